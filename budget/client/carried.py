"""The workload that the code now running belongs to."""

import time
from collections.abc import Mapping
from contextvars import ContextVar
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
    outer: "Workload | None" = field(default=None, repr=False, compare=False)
    """That of the block around."""
    block: object = field(default=None, repr=False, compare=False)
    """Which block it was begun by."""

    @property
    def remaining_seconds(self) -> float | None:
        """How much time is left, never below 0; None without a deadline."""
        return None if self.ends is None else max(0.0, self.ends - time.monotonic())


_current: ContextVar[Workload | None] = ContextVar("budget_workload", default=None)


def become(begun: Workload | None) -> None:
    """Make it the present one, in this thread or task."""
    _current.set(begun)


def current() -> Workload | None:
    """The workload that the code now running belongs to; None if it is untagged."""
    return _current.get()


class resumed:  # noqa: N801 - it reads as a statement
    """Goes on, in a thread or for a request, with a workload that began elsewhere, or none."""

    def __init__(self, begun: Workload | None) -> None:
        self._begun = begun

    def __enter__(self) -> None:
        self._before = current()
        become(self._begun)

    def __exit__(self, *error: object) -> None:
        become(self._before)
