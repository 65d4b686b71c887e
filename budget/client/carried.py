"""The workload that the code now running belongs to."""

import time
from collections.abc import Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Workload:
    """The work that the code now running is done for."""

    workload_class: str
    ends: float | None = None
    """When the answer becomes worthless, by the clock of `time.monotonic`."""
    source: str = ""
    """Where in the code it comes from; empty: wherever each call is made."""
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def remaining_seconds(self) -> float | None:
        """How much time is left, never below 0; None without a deadline."""
        return None if self.ends is None else max(0.0, self.ends - time.monotonic())


_current: ContextVar[Workload | None] = ContextVar("budget_workload", default=None)


def enter(begun: Workload | None) -> Token[Workload | None]:
    """Make it the present one; `leave` goes back."""
    return _current.set(begun)


def leave(entered: Token[Workload | None]) -> None:
    """Go back to what was the present one before."""
    _current.reset(entered)


def current() -> Workload | None:
    """The workload that the code now running belongs to; None if it is untagged."""
    return _current.get()


class resumed:  # noqa: N801 - it reads as a statement
    """Goes on, in a thread or for a request, with a workload that began elsewhere, or none."""

    def __init__(self, begun: Workload | None) -> None:
        self._begun = begun

    def __enter__(self) -> None:
        self._token = enter(self._begun)

    def __exit__(self, *error: object) -> None:
        leave(self._token)
