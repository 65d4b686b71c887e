"""What one class did in each step of a chart."""

from functools import cached_property

from budget.dashboard.figure import number
from budget.dashboard.refusals import Column, Refusals
from budget.dashboard.steps import Steps
from budget.services import ClassHistory


class Past:
    """A class's history; one without any did nothing in the steps that are known."""

    def __init__(self, steps: Steps, history: ClassHistory | None) -> None:
        self._steps = steps
        self._history = history or ClassHistory({}, {}, {})
        self.shed = Refusals(steps.known, self._history.shed)
        self.would_shed = Refusals(steps.known, self._history.would_shed)
        """Calls that were admitted only because the pool observes."""

    @cached_property
    def charged(self) -> Column:
        """Amounts of the leading limit, net of refunds; see `_settled`."""
        return _settled(self.counts("charged"))

    def counts(self, name: str) -> Column:
        """A column of counts, by the name of a field of `Usage`."""
        return self._history.columns.get(name) or self._nothing()

    def peaks(self, name: str) -> Column:
        """A column of what was most in each step, None for a class without a queue."""
        found = self._history.columns.get(name) or [None] * len(self._steps.times)
        return [value if value is None else number(value) for value in found]

    def per_minute(self, column: Column) -> Column:
        """Amounts as so many a minute."""
        return [
            value if value is None else number(value / minutes)
            for value, minutes in zip(column, self._steps.minutes, strict=True)
        ]

    def total(self, name: str) -> int:
        """The sum of a column of counts."""
        return _sum(self.counts(name))

    @cached_property
    def used(self) -> int:
        """The sum of what was charged, which is the area that a chart draws."""
        return _sum(self.charged)

    def knows(self, name: str) -> bool:
        """Whether a column of counts has any number in it."""
        return any(number is not None for number in self.counts(name))

    def _nothing(self) -> Column:
        return [0 if known else None for known in self._steps.known]


def _sum(column: Column) -> int:
    return int(sum(filter(None, column)))


def _settled(charged: Column) -> Column:
    """Charges less refunds, none below 0.

    Refunds are told in the minute they come in, be the call of an earlier one. What they
    outweigh their own step by is taken off the steps that follow, so that all steps add up
    to what was charged; at the end of the time what is left of it is dropped.
    """
    if min(filter(None, charged), default=0) >= 0:
        return charged
    owed = 0.0
    settled: Column = []
    for amount in charged:
        if amount is None:
            settled.append(None)
            continue
        settled.append(max(0, amount + owed))
        owed = min(0, amount + owed)
    return settled
