"""How many calls were refused in each step, and for which reasons."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from budget.dashboard.figure import Value
from budget.rule.decision import REASONS

ORDER: Mapping[str, int] = {reason: n for n, reason in enumerate(REASONS)}

Column = list[Value]
Counts = Mapping[str, int]
"""By reason."""


class Refusals:
    """Calls of one class that were shed, or would have been if the pool enforced."""

    def __init__(self, known: Sequence[bool], columns: Mapping[str, Column]) -> None:
        self._known = known
        """By step."""
        self.columns = columns
        """By reason."""

    @cached_property
    def counts(self) -> Counts:
        """How many in all, in the order in which reasons are tested, whichever is frequent."""
        sums = {reason: int(sum(filter(None, col))) for reason, col in self.columns.items()}
        return {reason: sums[reason] for reason in sorted(sums, key=_rank) if sums[reason]}

    @property
    def total(self) -> int:
        """How many in all."""
        return sum(self.counts.values())

    @cached_property
    def column(self) -> Column:
        """How many in each step, whatever the reason."""
        none: Column = [0] * len(self._known)
        by_step = zip(none, *self.columns.values(), strict=True)
        sums = [sum(filter(None, counts)) for counts in by_step]
        return [count if known else None for count, known in zip(sums, self._known, strict=True)]


def _rank(reason: str) -> tuple[int, str]:
    """Strange reasons come last."""
    return ORDER.get(reason, len(ORDER)), reason
