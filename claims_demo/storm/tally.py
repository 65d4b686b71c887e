"""What became of one service's work."""

from typing import Any

import msgspec


class Tally(msgspec.Struct, omit_defaults=True):
    """Counts since the storm began, or of one second of it."""

    asked: int = 0
    """Questions first asked, claim events, claims to classify."""
    unasked: int = 0
    """Questions that nobody was free to ask, since the whole crew waited for answers."""
    in_time: int = 0
    """Questions answered within the budget of time."""
    late: int = 0
    """Questions that were not, counted as soon as that is known."""
    gave_up: int = 0
    """Late ones refused for good, or for longer than anybody waits."""
    failed: int = 0
    """Late ones without an answer or a refusal; work that could not be handed in."""
    faults: dict[str, int] = {}
    """What went wrong, by kind."""
    enqueued: int = 0

    offered: int = 0
    admitted: int = 0
    """By the pool's own limits."""
    batched: int = 0
    """By those of the batch endpoint."""
    shed: dict[str, int] = {}
    """By reason."""
    expired: int = 0
    drawn: int = 0
    """What the pool gave, in units of its leading limit, less what was given back.

    From `offered` on by the ledger, whoever asked it."""
    held: dict[str, int] = {}
    """Seconds in which the queue waited for capacity, by the reason it was refused with."""

    @property
    def judged(self) -> int:
        """Questions of which it is known whether they were answered in time."""
        return self.in_time + self.unserved

    @property
    def unserved(self) -> int:
        """Questions that were not answered in time."""
        return self.late + self.unasked

    @property
    def unanswered(self) -> int:
        """Questions that got no answer at all."""
        return self.gave_up + self.failed + self.unasked

    @property
    def shed_total(self) -> int:
        """All refusals."""
        return sum(self.shed.values())

    @property
    def turned_away(self) -> int:
        """What was refused, or dropped later on."""
        return self.shed_total + self.expired

    @property
    def in_time_percent(self) -> float | None:
        """How many of the questions were answered in time; None if of none it is known."""
        return 100 * self.in_time / self.judged if self.judged else None

    @property
    def shed_percent(self) -> float | None:
        """How much of what was offered was refused; None if nothing was."""
        return 100 * self.shed_total / self.offered if self.offered else None

    def plus(self, other: "Tally", times: int = 1) -> "Tally":
        """Both counted together; `times` -1 takes the other away."""
        return Tally(
            **{
                name: _plus(getattr(self, name), getattr(other, name), times)
                for name in self.__struct_fields__
            }
        )

    def since(self, earlier: "Tally") -> "Tally":
        """What has been counted since an earlier moment."""
        return self.plus(earlier, -1)


def count(counts: dict[str, int], name: str, number: int = 1) -> None:
    """Adds to one of the counts."""
    counts[name] = counts.get(name, 0) + number


def _plus(one: Any, other: Any, times: int) -> Any:
    if isinstance(one, int):
        return one + times * other
    sums = {name: one.get(name, 0) + times * other.get(name, 0) for name in one | other}
    return {name: number for name, number in sums.items() if number}
