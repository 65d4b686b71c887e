"""Usage over a stretch of time, in steps, the open minute included."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
from django.db import connections

from budget.ledger.clock import moment
from budget.ledger.tally import ClassTally, allowance
from budget.ledger.usage_columns import COUNTS, PEAKS, REASONS
from budget.ledger.view import View, look, picture
from budget.models import PolicyRevision, UsageHour, UsageMinute
from budget.rule.terms import PoolTerms

HOUR = timedelta(hours=1)
MOST_REVISIONS = 500

# The last minute tells whether a step has the minute in it that is thought to be open.
ROWS = """
SELECT {step} AS n, workload_class, max(minute), sum(allowance)::bigint, {columns}
FROM {table} WHERE pool_id = %(pool)s AND {time} >= %(start)s AND {time} < %(end)s
GROUP BY 1, 2
"""
BY_REASON = """
SELECT {step} AS n, workload_class, key, sum(value::bigint)::bigint
FROM {table}, jsonb_each_text({column})
WHERE pool_id = %(pool)s AND {time} >= %(start)s AND {time} < %(end)s AND {column} <> '{{}}'
GROUP BY 1, 2, 3
"""
STEP = "(extract(epoch FROM {time})::bigint - %(first)s) / %(seconds)s"

Column = list[Any]


class ClassHistory(msgspec.Struct):
    """What one class did, by name of a field of `Usage`: one number per step.

    None where nothing is known. `queue_depth` and `oldest_wait_seconds` are the most at the
    end of a minute, or None for a class without a queue.
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


class FloorsSince(NamedTuple):
    """The floors from a moment on."""

    at: datetime
    version: int
    per_minute: dict[str, float]
    """By class: what it is sure of in a minute, in units of the leading limit."""
    allowance: int
    """What the leading limit allows the whole pool in a minute; 0 for a gauge."""


class UsageHistory(msgspec.Struct):
    """Usage of one pool, in steps of equal length."""

    start: datetime
    step: timedelta
    unit: str | None
    """What the leading limit counts: the unit of `charged`, floors and allowance."""
    allowance: list[int | None]
    """What the leading limit allowed in the recorded minutes of each step; None without any."""
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
        return [self.start + n * self.step for n in range(len(self.allowance))]


def history(pool_id: int, start: datetime, end: datetime, step: timedelta) -> UsageHistory:
    """Usage from `start` to before `end`; see `services.usage_history`."""
    # The open minute is read first: one that closes meanwhile is seen among the rows.
    view = look(pool_id)
    steps = -(-(end - start) // step)
    found = _Steps(start, step, steps)
    table = UsageMinute if step % HOUR else UsageHour
    found.read(pool_id, table)
    found.add_open(view)
    leading = view.terms.leading
    return UsageHistory(
        start=start,
        step=step,
        unit=None if leading is None else view.terms.limits[leading].unit,
        allowance=found.allowance,
        classes=found.classes,
        floors=_floors(pool_id, start, end, view),
        at=moment(view.balances.pool.at),
        now=picture(view),
    )


class _Steps:
    """Collects what is known of each step."""

    def __init__(self, start: datetime, step: timedelta, steps: int) -> None:
        self._start, self._step, self._count = start, step, steps
        self.allowance: list[int | None] = [None] * steps
        self.classes: dict[str, ClassHistory] = {}
        self._last: dict[tuple[int, str], datetime] = {}

    def read(self, pool_id: int, table: type[UsageMinute] | type[UsageHour]) -> None:
        """Add all closed minutes."""
        time = "minute" if table is UsageMinute else "hour"
        names = {
            "table": table._meta.db_table,
            "time": time,
            "step": STEP.format(time=time),
            "columns": ", ".join(
                [f"sum({name})::bigint" for name in COUNTS] + [f"max({name})" for name in PEAKS]
            ),
        }
        bounds: dict[str, Any] = {
            "pool": pool_id,
            "start": self._start,
            "end": self._start + self._count * self._step,
            "first": int(self._start.timestamp()),
            "seconds": int(self._step.total_seconds()),
        }
        with connections["default"].cursor() as cursor:
            cursor.execute(ROWS.format(**names), bounds)
            for n, slug, last, allowed, *numbers in cursor.fetchall():
                self._add(n, slug, last, allowed, numbers)
            for column in REASONS:
                cursor.execute(BY_REASON.format(column=column, **names), bounds)
                for n, slug, reason, count in cursor.fetchall():
                    self._count_reason(getattr(self.classes[slug], column), n, reason, count)
        self._fill()

    def add_open(self, view: View) -> None:
        """Add the minute that is still open, unless it was among the closed ones by now."""
        opened = moment(view.balances.minute.start)
        n = (opened - self._start) // self._step
        if not 0 <= n < self._count:
            return
        open_classes = view.balances.minute.classes
        slugs = {*open_classes, *(member.slug for member in view.terms.classes)}
        if all(self._last.get((n, slug), moment(0)) < opened for slug in slugs):
            self.allowance[n] = (self.allowance[n] or 0) + allowance(view.terms)
            for slug in slugs:
                self._add_tally(n, slug, open_classes.get(slug) or ClassTally())
            self._fill()

    def _add_tally(self, n: int, slug: str, tally: ClassTally) -> None:
        member = self._of(slug)
        for name in COUNTS:
            member.columns[name][n] = (member.columns[name][n] or 0) + round(getattr(tally, name))
        for column in REASONS:
            for reason, count in getattr(tally, column).items():
                self._count_reason(getattr(member, column), n, reason, count)

    def _add(self, n: int, slug: str, last: datetime, allowed: int, numbers: Sequence[Any]) -> None:
        self._last[n, slug] = last
        # A class that came to be meanwhile has fewer minutes than the pool.
        self.allowance[n] = max(self.allowance[n] or 0, allowed)
        columns = self._of(slug).columns
        for name, number in zip((*COUNTS, *PEAKS), numbers, strict=True):
            columns[name][n] = number

    def _of(self, slug: str) -> ClassHistory:
        if slug not in self.classes:
            columns: dict[str, Column] = {name: self._blank() for name in (*COUNTS, *PEAKS)}
            self.classes[slug] = ClassHistory(columns, {}, {})
        return self.classes[slug]

    def _count_reason(self, into: dict[str, Column], n: int, reason: str, count: int) -> None:
        column = into.setdefault(reason, self._blank())
        column[n] = (column[n] or 0) + count

    def _fill(self) -> None:
        """Where the pool's minutes were recorded, a class without any did nothing."""
        for n, allowed in enumerate(self.allowance):
            if allowed is not None:
                for column in self._counted():
                    column[n] = column[n] or 0

    def _counted(self) -> Iterable[Column]:
        for member in self.classes.values():
            yield from (member.columns[name] for name in COUNTS)
            yield from member.shed.values()
            yield from member.would_shed.values()

    def _blank(self) -> Column:
        return [None] * self._count


def _floors(pool_id: int, start: datetime, end: datetime, view: View) -> list[FloorsSince]:
    """The floors of every policy version that held meanwhile."""
    revisions = PolicyRevision.objects.filter(pool_id=pool_id, changed_at__lt=end)
    newest = revisions.order_by("-changed_at", "-version")[:MOST_REVISIONS]
    found: list[FloorsSince] = []
    for revision in newest:
        try:
            terms = msgspec.convert(revision.terms, PoolTerms)
        except msgspec.ValidationError:  # of a version of this program with other terms
            continue
        found.append(_floors_of(terms, revision.changed_at))
        if revision.changed_at <= start:
            break
    return found[::-1] or [_floors_of(view.terms, datetime(1970, 1, 1, tzinfo=UTC))]


def _floors_of(terms: PoolTerms, at: datetime) -> FloorsSince:
    allowed = allowance(terms)
    if terms.leading is None:
        return FloorsSince(at, terms.version, {}, 0)
    leading = terms.limits[terms.leading].name
    shares = {
        member.slug: member.share * allowed
        for member in terms.classes
        if leading not in member.except_limits
    }
    return FloorsSince(at, terms.version, shares, allowed)
