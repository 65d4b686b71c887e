"""The statements behind the pages of sheds, and which sheds they look at.

All read the index `budget_sheds`, from the newest shed back. Filters by class, reason,
source and key are decided in it, and what lies there since the last vacuum is looked up in
the table, like tags and states: those calls lie side by side, in the order of time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.backends.utils import CursorWrapper

from budget.dashboard.sheds.filters import Filters
from budget.dashboard.sheds.grouping import Grouping
from budget.dashboard.sheds.question import Question
from budget.pages.bounded import bounded

LOOKED_AT = 50_000
"""The most sheds that one page looks at, the newest of its time: that bounds what it costs."""
MOMENT = timedelta(microseconds=1)

# The planner can't know that calls lie in the order of time: the index begins with the pool.
# And who looks at the past takes no more than one of the database's workers from the ledger.
IN_ORDER = """
SELECT set_config('random_page_cost', '1.1', true),
    set_config('max_parallel_workers_per_gather', '0', true)
"""

WITHIN = """
pool_id = %(pool)s AND reason <> '' AND offered_at >= %(since)s AND offered_at < %(until)s
"""

# The newest shed that is too many.
ONE_TOO_MANY = f"""
SELECT offered_at FROM budget_call WHERE {WITHIN}
ORDER BY offered_at DESC OFFSET %(most)s LIMIT 1
"""

# The largest groups, with what they are made of, and how many groups and calls there are.
# A call's tags are told apart in the list of columns: a join with them takes twice as long.
GROUPS = """
WITH sheds AS (
    SELECT {key} AS name, workload_class, reason, state <> 'shed' AS would_be, offered_at
    FROM budget_call WHERE {where}
), parts AS (
    SELECT name, workload_class, reason, would_be,
        count(*) AS calls, min(offered_at) AS first, max(offered_at) AS last
    FROM sheds GROUP BY 1, 2, 3, 4
), groups AS (
    SELECT name, sum(calls) AS calls, count(*) OVER () AS groups
    FROM parts GROUP BY name ORDER BY {order} LIMIT %(most)s
)
SELECT name, g.groups, p.workload_class, p.reason, p.would_be, p.calls, p.first, p.last
FROM groups g JOIN parts p USING (name) ORDER BY {order_of_groups}, p.calls DESC
"""
KEYS = {
    "source": "source",
    "class": "workload_class",
    "reason": "reason",
    "key": "key_prefix",
    "tag": "jsonb_object_keys(tags)",
    "time": "date_bin(%(step)s, offered_at, %(start)s)",
}
OF_TAG = "tags ->> %(of_tag)s"
HAS_TAG = "jsonb_exists(tags, %(of_tag)s)"

BINS = """
SELECT date_bin(%(step)s, offered_at, %(start)s), count(*) FILTER (WHERE state = 'shed'), count(*)
FROM budget_call WHERE {where} GROUP BY 1 ORDER BY 1
"""

# All columns but the long ones.
ENTRIES = """
SELECT id, pool_id, workload_class, untagged, key_prefix, input_tokens, output_tokens, source,
    tags, offered_at, state, reason, "limit", retry_after_ms, retried_as, job_id, of_batch
FROM budget_call WHERE {where} AND (offered_at, id) < (%(at)s, %(id)s)
ORDER BY offered_at DESC, id DESC LIMIT %(most)s
"""

# Text that a spreadsheet would run gets an apostrophe in front. The database writes the lines:
# to do it here would take the interpreter from the ledger for seconds.
EXPORT = """
COPY (
    SELECT id, to_char(offered_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        {workload_class}, CASE state WHEN 'shed' THEN 'shed' ELSE 'would be shed' END, reason,
        "limit", {source}, {key_prefix}, input_tokens, output_tokens, retry_after_ms, retried_as,
        job_id, tags
    FROM budget_call WHERE {where} AND (offered_at, id) < (%(at)s, %(id)s)
    ORDER BY offered_at DESC, id DESC LIMIT %(most)s
) TO STDOUT (FORMAT csv)
"""
HARMLESS = r"CASE WHEN {0} ~ E'^[-=+@\t\r\n＝＋－＠]' THEN '''' || {0} ELSE {0} END"
EXPORTED = (
    "id",
    "offered_at",
    "workload_class",
    "decision",
    "reason",
    "limit",
    "source",
    "api_key",
    "input_tokens",
    "output_tokens",
    "retry_after_ms",
    "offered_again_as",
    "job_id",
    "tags",
)
"""What the columns of an export are called."""

# Decisions on one call that were followed by another, among the newest sheds before a moment.
EARLIER = f"""
SELECT id, state, reason, offered_at FROM (
    SELECT id, state, reason, offered_at, retried_as FROM budget_call
    WHERE {WITHIN} ORDER BY offered_at DESC LIMIT {LOOKED_AT}
) AS looked WHERE retried_as = %(id)s AND id <> %(id)s ORDER BY offered_at DESC LIMIT %(most)s
"""

CONDITIONS = {
    "workload_class": "workload_class = %(workload_class)s",
    "reason": "reason = %(reason)s",
    "source": "source = %(source)s",
    "source_part": "strpos(lower(source), lower(%(source_part)s)) > 0",
    "key": "key_prefix = %(key)s",
}
DECIDED = {"shed": "state = 'shed'", "would_be": "state <> 'shed'"}


class Window(NamedTuple):
    """The sheds of a pool that a page looks at: those offered from `since` to before `until`."""

    pool_id: int
    since: datetime
    until: datetime
    whole: bool
    """Whether there are none before, in the time asked for; else these are LOOKED_AT."""


class Where(NamedTuple):
    """A condition, and its parameters by name."""

    sql: str
    params: dict[str, Any]


@contextmanager
def in_order_of_time() -> Iterator[CursorWrapper]:
    """A cursor whose queries read calls by the index of sheds, in bounded time."""
    with bounded() as cursor:
        cursor.execute(IN_ORDER)
        yield cursor


def window_of(cursor: CursorWrapper, pool_id: int, question: Question) -> Window:
    """The part of a time that is looked at: the newest of it, or of what `until` leaves of it."""
    start, end = question.span.start, question.span.end
    until = max(start, min(end, question.until or end))
    bounds: dict[str, Any] = {"pool": pool_id, "since": start, "until": until}
    cursor.execute(ONE_TOO_MANY, {**bounds, "most": LOOKED_AT})
    row = cursor.fetchone()
    since = row[0] + MOMENT if row else start
    return Window(pool_id, since, until, whole=row is None)


def where(window: Window, filters: Filters) -> Where:
    """The condition for sheds in a window that pass the filters."""
    params: dict[str, Any] = {"pool": window.pool_id, "since": window.since, "until": window.until}
    conditions = [WITHIN]
    for name, condition in CONDITIONS.items():
        if (value := getattr(filters, name)) is not None:
            conditions.append(condition)
            params[name] = value
    if filters.decision is not None:
        conditions.append(DECIDED[filters.decision])
    for n, tag in enumerate(filters.tags):
        name, value = f"tag_{n}", f"value_{n}"
        params |= {name: tag.name, value: tag.value}
        has = f"jsonb_exists(tags, %({name})s)"
        conditions.append(has if tag.value is None else f"tags ->> %({name})s = %({value})s")
    return Where(" AND ".join(conditions), params)


def groups_sql(grouping: Grouping, condition: str) -> str:
    """The statement that groups; its parameters are those of the condition, and
    `of_tag`, `step`, `start`, `most`."""
    by_time = grouping.by == "time"
    return GROUPS.format(
        key=OF_TAG if grouping.tag else KEYS[grouping.by],
        where=f"{condition} AND {HAS_TAG}" if grouping.tag else condition,
        order="name DESC" if by_time else "2 DESC, name",
        order_of_groups="name DESC" if by_time else "g.calls DESC, name",
    )


def export_sql(condition: str) -> str:
    """The statement that writes sheds as CSV; its parameters are those of the condition, and
    `at`, `id`, `most`."""
    texts = ("workload_class", "source", "key_prefix")
    return EXPORT.format(where=condition, **{name: HARMLESS.format(name) for name in texts})
