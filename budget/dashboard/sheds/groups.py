"""Sheds by who, what or when: how many, why, since when."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from django.db.backends.utils import CursorWrapper

from budget.dashboard.lineup import UNTAGGED
from budget.dashboard.reasons import in_words
from budget.dashboard.sheds.queries import Where, groups_sql
from budget.dashboard.sheds.question import Question
from budget.pages.percents import percent

MOST = 20
"""Groups shown; of times all are."""
MOST_TIMES = 1_000

Count = tuple[str, int]


class Group(NamedTuple):
    """Sheds that have something in common."""

    words: str
    at: datetime | None
    """The step of time it stands for, in place of words."""
    calls: int
    part: float
    """Of all sheds shown, 0 to 1."""
    reasons: list[Count]
    """In words, most frequent first; would-be ones are told apart."""
    classes: list[Count]
    first: datetime
    last: datetime
    query: str
    """What an address says to show these alone."""

    @property
    def percent(self) -> str:
        """Of all sheds shown, in words."""
        return percent(100 * self.part)


class Groups(NamedTuple):
    """The largest groups."""

    shown: list[Group]
    others: int
    """How many more there are."""
    left_out: int
    """Sheds that are in no group shown."""
    only_class: str | None
    """The slug of the class that all sheds are of, empty for none; None if they are of several."""


def groups(cursor: CursorWrapper, question: Question, where: Where, found: int) -> Groups:
    """Group the sheds, of which `found` were counted."""
    span, grouping = question.span, question.grouping
    params: dict[str, Any] = {
        **where.params,
        "of_tag": grouping.tag,
        "step": span.step,
        "start": span.start,
        "most": MOST_TIMES if grouping.by == "time" else MOST,
    }
    cursor.execute(groups_sql(grouping, where.sql), params)
    rows = cursor.fetchall()
    shown = [
        _group(question, name, [row[2:] for row in parts], found)
        for name, parts in groupby(rows, key=itemgetter(0))
    ]
    others = rows[0][1] - len(shown) if rows else 0
    left_out = max(0, found - sum(group.calls for group in shown))
    slugs = {row[2] for row in rows}
    only = slugs.pop() if len(slugs) == 1 and not left_out else None
    return Groups(shown, others, left_out, only)


def _group(question: Question, name: Any, parts: list[tuple[Any, ...]], found: int) -> Group:
    grouping, step = question.grouping, question.span.step
    by_time = grouping.by == "time"
    if by_time:
        inside = question.within(name, name + step)._replace(grouping=type(grouping)())
    else:
        filters, within = grouping.into(name, question.filters)
        inside = question._replace(filters=filters, grouping=within)
    calls = sum(part[3] for part in parts)
    return Group(
        words="" if by_time else grouping.words(name),
        at=name if by_time else None,
        calls=calls,
        part=calls / found if found else 0.0,
        reasons=_counts((_reason(reason, would), n) for _, reason, would, n, *_ in parts),
        classes=_counts((slug or UNTAGGED, n) for slug, _, _, n, *_ in parts),
        first=min(part[4] for part in parts),
        last=max(part[5] for part in parts),
        query=inside.query,
    )


def _reason(reason: str, would_be: bool) -> str:
    return f"would be {in_words(reason)}" if would_be else in_words(reason)


def _counts(counted: Iterable[Count]) -> list[Count]:
    total: Counter[str] = Counter()
    for name, count in counted:
        total[name] += count
    return total.most_common()
