"""Usage over a stretch of time, in steps, the open minute included."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from budget.ledger.clock import MINUTE, minute_of, moment
from budget.ledger.floors_since import FloorsSince, floors_between
from budget.ledger.history_rows import NAMES, Row, rows
from budget.ledger.tally import ClassTally, allowance, leading_name
from budget.ledger.usage_columns import COUNTS, MEASURED, REASONS
from budget.ledger.view import View, look, picture
from budget.rule.terms import SECOND

Column = list[Any]


class ClassHistory(msgspec.Struct):
    """What one class did, by name of a field of `Usage`: one number per step.

    None where nothing is known, and for amounts of the leading limit where that was another
    limit than today's. `queue_depth` and `oldest_wait_seconds` are the most at the end of a
    minute, or None for a class without a queue.
    """

    columns: dict[str, Column]
    shed: dict[str, Column]
    """By reason; steps in which nobody was shed for it have 0."""
    would_shed: dict[str, Column]

    def total(self, name: str) -> int:
        """The sum of a column."""
        return sum(number or 0 for number in self.columns[name])

    def shed_total(self) -> dict[str, int]:
        """How many were shed, by reason."""
        return {reason: sum(n or 0 for n in column) for reason, column in self.shed.items()}


class UsageHistory(msgspec.Struct):
    """Usage of one pool, in steps of equal length."""

    start: datetime
    step: timedelta
    unit: str | None
    """What the leading limit counts: the unit of `charged`, floors and allowance."""
    minutes: list[int | None]
    """How many minutes of each step are recorded, the open one included; None: nothing is known."""
    allowance: list[int | None]
    """What the leading limit allowed in them; None also where it was another limit than today's."""
    classes: dict[str, ClassHistory]
    """By slug, in no order; the empty slug is untagged calls that were shed."""
    floors: list[FloorsSince]
    """In order; the first began at or before the start."""
    at: datetime
    """The moment of looking, by the ledger's clock."""
    now: dict[str, Any]
    """The pool at that moment, as `services.pool_view` says it."""

    @property
    def times(self) -> list[datetime]:
        """When each step begins."""
        return [self.start + n * self.step for n in range(len(self.minutes))]


def history(pool_id: int, start: datetime, end: datetime, step: timedelta) -> UsageHistory:
    """Usage from `start` to before `end`; see `services.usage_history`."""
    # The open minute is read first: one that closes meanwhile is seen among the rows.
    view = look(pool_id)
    found = _Steps(start, step, -(-(end - start) // step))
    for row in rows(pool_id, start, end, step, leading_name(view.terms)):
        found.add(row)
    found.add_open(view)
    found.fill()
    leading = view.terms.leading
    return UsageHistory(
        start=start,
        step=step,
        unit=None if leading is None else view.terms.limits[leading].unit,
        minutes=found.minutes,
        allowance=found.allowance,
        classes=found.classes,
        floors=floors_between(pool_id, start, end, view.policy),
        at=moment(view.balances.pool.at),
        now=picture(view),
    )


class _Steps:
    """Collects what is known of each step."""

    def __init__(self, start: datetime, step: timedelta, count: int) -> None:
        self._start, self._step, self._steps = start, step, count
        self.minutes: list[int | None] = [None] * count
        self.allowance: list[int | None] = [None] * count
        self.classes: dict[str, ClassHistory] = {}
        self._last: dict[tuple[int, str], int] = {}

    def add(self, row: Row) -> None:
        """Add the closed minutes of one class in one step."""
        n = row.step
        self.minutes[n], self.allowance[n] = row.minutes, row.allowance
        self._last[n, row.workload_class] = row.last
        member = self._of(row.workload_class)
        for column, number in zip(member.columns.values(), row.numbers, strict=True):
            column[n] = number
        for kind in REASONS:
            for reason, count in row.reasons.get(kind, {}).items():
                self._count_reason(getattr(member, kind), n, reason, count)

    def add_open(self, view: View) -> None:
        """Add the minute that is still open, unless it was among the closed ones by now.

        And the present one, if that minute ended so lately that nobody can have closed it.
        """
        opened, present = view.balances.minute.start, minute_of(view.balances.pool.at)
        self._add_minute(view, opened, view.balances.minute.classes)
        if present == opened + MINUTE:
            self._add_minute(view, present, {})

    def _add_minute(self, view: View, start: int, tallies: dict[str, ClassTally]) -> None:
        began = moment(start)
        n = (began - self._start) // self._step
        slugs = {*tallies, *(member.slug for member in view.terms.classes)}
        if not 0 <= n < self._steps or any(
            self._last.get((n, slug), 0) >= start // SECOND for slug in slugs
        ):
            return
        self.minutes[n] = (self.minutes[n] or 0) + 1
        self.allowance[n] = (self.allowance[n] or 0) + allowance(view.terms)
        for slug in slugs:
            self._add_tally(n, slug, tallies.get(slug) or ClassTally())

    def _add_tally(self, n: int, slug: str, tally: ClassTally) -> None:
        member = self._of(slug)
        for name in (*COUNTS, *MEASURED):
            member.columns[name][n] = (member.columns[name][n] or 0) + round(getattr(tally, name))
        for kind in REASONS:
            for reason, count in getattr(tally, kind).items():
                self._count_reason(getattr(member, kind), n, reason, count)

    def fill(self) -> None:
        """Where the pool's minutes were recorded, a class without any did nothing."""
        known = [minutes is not None for minutes in self.minutes]
        for slug, member in self.classes.items():
            silent = [k and (n, slug) not in self._last for n, k in enumerate(known)]
            for name in COUNTS:
                _fill(member.columns[name], known)
            for name in MEASURED:
                _fill(member.columns[name], silent)
            for column in (*member.shed.values(), *member.would_shed.values()):
                _fill(column, known)

    def _of(self, slug: str) -> ClassHistory:
        if slug not in self.classes:
            # In the order of the numbers of rows.
            self.classes[slug] = ClassHistory({name: self._blank() for name in NAMES}, {}, {})
        return self.classes[slug]

    def _count_reason(self, into: dict[str, Column], n: int, reason: str, count: int) -> None:
        column = into.setdefault(reason, self._blank())
        column[n] = (column[n] or 0) + count

    def _blank(self) -> Column:
        return [None] * self._steps


def _fill(column: Column, where: list[bool]) -> None:
    """Put 0 for None at the steps named."""
    if None in column:
        column[:] = [0 if n is None and w else n for n, w in zip(column, where, strict=True)]
