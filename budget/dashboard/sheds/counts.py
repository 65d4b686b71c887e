"""What each class was shed for in all, exactly, from the usage."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from budget.dashboard.lineup import UNTAGGED
from budget.dashboard.reasons import in_words
from budget.dashboard.sheds.filters import Filters
from budget.dashboard.sheds.question import Question
from budget.pages.percents import percent
from budget.services import ClassHistory, UsageHistory


class ReasonCount(NamedTuple):
    """Calls of one class that were shed, or would be, for one reason."""

    words: str
    calls: int
    query: str
    """What an address says to show these."""


class ClassCount(NamedTuple):
    """What was shed of one class."""

    words: str
    offered: int
    shed: int
    would_be: int
    """Admitted because the pool observes."""
    expired: int
    reasons: list[ReasonCount]
    query: str

    @property
    def shed_rate(self) -> str:
        """Of what was offered, in words."""
        return percent(100 * self.shed / self.offered) if self.offered else "–"


class Counts(NamedTuple):
    """What was shed of each class, most first."""

    classes: list[ClassCount]
    """Those of which something was shed or expired."""
    offered: int
    """By all classes."""

    @property
    def sheds(self) -> int:
        """How often a call or job was shed, or would be if the pool enforced."""
        return sum(row.shed + row.would_be for row in self.classes)

    @property
    def shed(self) -> int:
        """How often a call or job was shed."""
        return sum(row.shed for row in self.classes)

    @property
    def expired(self) -> int:
        """Jobs that expired."""
        return sum(row.expired for row in self.classes)

    @property
    def would_be(self) -> int:
        """Calls that were admitted because the pool observes."""
        return sum(row.would_be for row in self.classes)


class InAll(NamedTuple):
    """What came of everything that was offered in a stretch of time."""

    shed: int
    would_be: int
    offered: int


def counts(question: Question, history: UsageHistory) -> Counts:
    """Everything in the time that the question is about, whatever its filters."""
    rows = [_class(question, slug, past) for slug, past in history.classes.items()]
    concerned = [row for row in rows if row.shed or row.would_be or row.expired]
    return Counts(
        sorted(concerned, key=lambda row: (-row.shed - row.would_be, row.words)),
        offered=sum(row.offered for row in rows),
    )


def _class(question: Question, slug: str, past: ClassHistory) -> ClassCount:
    shed, would_be = _total(past.shed), _total(past.would_shed)
    alone = question._replace(filters=Filters(workload_class=slug))
    return ClassCount(
        words=slug or UNTAGGED,
        offered=past.total("offered"),
        shed=sum(shed.values()),
        would_be=sum(would_be.values()),
        expired=past.total("expired"),
        reasons=_reasons(alone, shed, "shed") + _reasons(alone, would_be, "would_be"),
        query=alone.query,
    )


def _reasons(alone: Question, total: dict[str, int], decision: str) -> list[ReasonCount]:
    of_class = alone.filters
    return [
        ReasonCount(
            f"would be {in_words(reason)}" if decision == "would_be" else in_words(reason),
            count,
            alone._replace(filters=of_class._replace(reason=reason, decision=decision)).query,
        )
        for reason, count in sorted(total.items(), key=lambda item: -item[1])
        if count
    ]


def _total(columns: Mapping[str, Sequence[int | None]]) -> dict[str, int]:
    return {reason: sum(n or 0 for n in column) for reason, column in columns.items()}
