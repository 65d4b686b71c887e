"""What waits for a batch, counted."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection

from budget.models import Pool, WorkloadClass

# The most urgent of each class, at most as many as one batch holds: of those behind them
# nobody needs to know before these have left.
WAITING = """
SELECT j.model, count(*), sum(j.size)::bigint, min(j.enqueued_at), min(j.deadline)
FROM unnest(%(classes)s::text[]) AS c (slug)
CROSS JOIN LATERAL (
    SELECT model, octet_length(args) AS size, enqueued_at, deadline FROM budget_job
    WHERE pool_id = %(pool)s AND workload_class = c.slug AND batchable
        AND state = 'queued' AND not_before IS NULL AND deadline >= %(latest)s
    ORDER BY deadline LIMIT %(most)s
) AS j
GROUP BY j.model ORDER BY j.model
"""


class Group(NamedTuple):
    """Waiting jobs of one model that a batch could take."""

    model: str
    jobs: int
    size: int
    oldest: datetime
    soonest: datetime
    """The first deadline."""


def groups(pool: Pool, now: datetime) -> list[Group]:
    """Those of a pool whose deadline leaves its batch endpoint the window."""
    if not pool.batch or pool.paused:
        return []
    classes = WorkloadClass.objects.filter(tier="bulk", paused=False)
    wanted: dict[str, Any] = {
        "pool": pool.pk,
        "classes": list(classes.values_list("slug", flat=True)),
        "latest": now + timedelta(hours=pool.batch_window_hours),
        "most": pool.batch_max_requests,
    }
    with connection.cursor() as cursor:
        cursor.execute(WAITING, wanted)
        return [Group(*row) for row in cursor.fetchall()]
