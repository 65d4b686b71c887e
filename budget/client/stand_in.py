"""A gate that takes the place of all others, for tests of code that makes calls."""

from collections.abc import Callable
from typing import Any

from budget.client.gate import Gate

_present: Gate | None = None


def present() -> Gate | None:
    """The gate that stands in for all others; None outside of tests."""
    return _present


def put(gate: Gate | None) -> None:
    """Let a gate stand in for all others, or none."""
    global _present
    _present = gate


class Later:
    """A gate made once it is asked, for what is made while another stands in for it."""

    def __init__(self, make: Callable[[], Gate]) -> None:
        self._make = make
        self._made: Gate | None = None

    def __getattr__(self, name: str) -> Any:
        self._made = self._made or self._make()
        return getattr(self._made, name)

    async def leave(self, user: object) -> None:
        """As the gate's own, which has nothing to leave unless it was made."""
        if self._made is not None:
            await self._made.leave(user)
