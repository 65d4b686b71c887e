"""What one class did in each step of a chart."""

from collections.abc import Mapping

from budget.dashboard.figure import Value, number
from budget.dashboard.steps import Steps
from budget.services import ClassHistory

Column = list[Value]


class Past:
    """A class's history; one without any did nothing in the steps that are known."""

    def __init__(self, steps: Steps, history: ClassHistory | None) -> None:
        self._steps = steps
        self._history = history or ClassHistory({}, {}, {})

    def counts(self, name: str) -> Column:
        """A column of counts, by the name of a field of `Usage`."""
        return self._history.columns.get(name) or self._nothing()

    def peaks(self, name: str) -> Column:
        """A column of what was most in each step, None for a class without a queue."""
        found = self._history.columns.get(name) or [None] * len(self._steps.times)
        return [value if value is None else number(value) for value in found]

    def per_minute(self, name: str) -> Column:
        """A column of amounts, a minute; less than nothing, as refunds make it, is nothing."""
        return [
            value if value is None else number(max(0, value) / minutes)
            for value, minutes in zip(self.counts(name), self._steps.minutes, strict=True)
        ]

    def shed(self) -> Column:
        """How many were shed in each step, whatever the reason."""
        columns = self._history.shed.values()
        return [
            sum(column[n] or 0 for column in columns) if known else None
            for n, known in enumerate(self._steps.known)
        ]

    def shed_for(self) -> Mapping[str, Column]:
        """How many were shed in each step, by reason, most frequent first."""
        return {reason: self._history.shed[reason] for reason in self.reasons}

    @property
    def reasons(self) -> dict[str, int]:
        """How many were shed in all, by reason, most frequent first."""
        counts = self._history.shed_total().items()
        return {reason: count for reason, count in sorted(counts, key=lambda c: -c[1]) if count}

    @property
    def would_shed(self) -> int:
        """How many were admitted only because the pool observes."""
        return sum(number or 0 for column in self._history.would_shed.values() for number in column)

    def total(self, name: str) -> int:
        """The sum of a column of counts."""
        return sum(int(number or 0) for number in self.counts(name))

    def knows(self, name: str) -> bool:
        """Whether a column of counts has any number in it."""
        return any(number is not None for number in self.counts(name))

    def _nothing(self) -> Column:
        return [0 if known else None for known in self._steps.known]
