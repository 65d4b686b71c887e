"""Reads closed minutes, added up by step and class."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec
from django.db import connections

from budget.ledger.usage_columns import COUNTS, MEASURED, PEAKS
from budget.models import UsageHour, UsageMinute

HOUR = timedelta(hours=1)
NAMES = (*COUNTS, *MEASURED, *PEAKS)

# All in one statement, hence of one snapshot. Amounts of another leading limit are left out.
# A class that came or went within a step has fewer minutes than the pool.
ROWS = """
WITH found AS MATERIALIZED (
    SELECT (extract(epoch FROM {time})::bigint - %(first)s) / %(seconds)s AS step,
        {time} AS began, minute, minutes, allowance, workload_class, shed, would_shed, {names},
        leading_limit IN ('', %(leading)s) AS comparable
    FROM {table} WHERE pool_id = %(pool)s AND {time} >= %(start)s AND {time} < %(end)s
), pool AS (
    SELECT step, sum(minutes)::bigint AS minutes, sum(allowance)::bigint AS allowance FROM (
        SELECT step, began, max(minutes) AS minutes,
            max(allowance) FILTER (WHERE comparable) AS allowance
        FROM found GROUP BY step, began
    ) AS times GROUP BY step
), counted AS (
    SELECT step, workload_class, kind, key, sum(value::bigint) AS count
    FROM found
    CROSS JOIN LATERAL (VALUES ('shed', shed), ('would_shed', would_shed)) AS k (kind, counts)
    CROSS JOIN LATERAL jsonb_each_text(counts)
    WHERE counts <> '{{}}' GROUP BY 1, 2, 3, 4
), by_kind AS (
    SELECT step, workload_class, kind, jsonb_object_agg(key, count) AS counts
    FROM counted GROUP BY 1, 2, 3
), reasons AS (
    SELECT step, workload_class, jsonb_object_agg(kind, counts)::text AS reasons
    FROM by_kind GROUP BY 1, 2
), classes AS (
    SELECT step, workload_class, max(minute) AS last, {columns} FROM found GROUP BY 1, 2
)
SELECT step, workload_class, extract(epoch FROM last)::bigint, pool.minutes, pool.allowance,
    reasons, {names}
FROM classes JOIN pool USING (step) LEFT JOIN reasons USING (step, workload_class)
"""


class Row(NamedTuple):
    """What is recorded of one class in one step."""

    step: int
    workload_class: str
    last: int
    """When the last minute in it began, in seconds since the epoch."""
    minutes: int
    """How many minutes of the step are recorded of the pool."""
    allowance: int | None
    reasons: dict[str, dict[str, int]]
    """Counts by reason, of `shed` and `would_shed`."""
    numbers: list[Any]
    """By NAMES."""


def rows(
    pool_id: int, start: datetime, end: datetime, step: timedelta, leading: str
) -> Iterator[Row]:
    """All closed minutes from `start` to before `end`; whole hours are read from their sums."""
    table, time = (UsageMinute, "minute") if step % HOUR else (UsageHour, "hour")
    columns = (
        [f"sum({name})::bigint AS {name}" for name in COUNTS]
        + [f"(sum({name}) FILTER (WHERE comparable))::bigint AS {name}" for name in MEASURED]
        + [f"max({name}) AS {name}" for name in PEAKS]
    )
    statement = ROWS.format(
        table=table._meta.db_table,
        time=time,
        columns=", ".join(columns),
        names=", ".join(NAMES),
    )
    bounds: dict[str, Any] = {
        "pool": pool_id,
        "start": start,
        "end": end,
        "first": int(start.timestamp()),
        "seconds": int(step.total_seconds()),
        "leading": leading,
    }
    with connections["default"].cursor() as cursor:
        cursor.execute(statement, bounds)
        for n, slug, last, minutes, allowed, reasons, *numbers in cursor.fetchall():
            counts = {} if reasons is None else msgspec.json.decode(reasons)
            yield Row(n, slug, last, minutes, allowed, counts, numbers)
