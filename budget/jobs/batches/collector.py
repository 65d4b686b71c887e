"""Decides when waiting jobs are worth a batch, and collects them into it.

Until then they wait queued and unleased: nothing is half collected, and a job that is
cancelled meanwhile is gone without a trace.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.utils import timezone

from budget import services
from budget.jobs.batches import hold, members
from budget.jobs.batches.endpoint import Endpoint
from budget.jobs.batches.endpoints import ENDPOINTS
from budget.jobs.batches.waiting import Group, groups
from budget.ledger.ids import new_id
from budget.models import JobBatch, Pool
from budget.services import TakenJob

MOST_AT_ONCE = 500
"""Jobs the ledger collects in one transaction."""
LAST_CALL = timedelta(seconds=30)
"""How long before the window no longer fits a job is reason enough to send a batch."""
LOCK = 0x6275_6467
"""Of advisory locks: opening the batches of one pool."""


def due(now: datetime) -> bool:
    """Whether jobs wait for which it is time to open a batch."""
    return any(_ripe(pool, now) for pool in _pools())


def open_batches() -> None:
    """Open a batch for each model whose jobs have become enough, or old enough."""
    for pool in _pools():
        now = timezone.now()
        if _ripe(pool, now):
            _open(pool, now)


def fill(batch: JobBatch, pool: Pool, until: float) -> None:
    """Lease what fits into a batch, then have it sent.

    1. What a worker that died has collected counts: those jobs know their batch.
    2. If none fits into the limits of the batch endpoint, it rests and is tried again.
    3. Without jobs it is dropped.
    """
    endpoint = ENDPOINTS.get(pool.provider)
    count, size = members.size(batch)
    while endpoint is not None and (found := _collect(batch, pool, endpoint, count, size)):
        count += len(found)
        size += sum(len(job.args.encode()) for job in found)
        hold.keep(batch)
    count, size = members.size(batch)
    now = timezone.now()
    if count:
        # Its time counts from the leases of its jobs, however long it waited for room.
        sending = {"state": JobBatch.State.SUBMITTING, "created_at": now}
        hold.let_go(batch, requests=count, size=size, looks=0, error="", **sending)
    elif any(group.model == batch.model for group in groups(pool, now)):
        hold.rest(
            batch,
            error="None of the jobs that wait fits into the limits of the batch endpoint now.",
        )
    else:
        batch.delete()


def _collect(
    batch: JobBatch, pool: Pool, endpoint: type[Endpoint], count: int, size: int
) -> list[TakenJob]:
    """Some more jobs, next to those a batch has; empty if no other fits in or none is left."""
    frame = endpoint.frame_bytes
    bytes_left = pool.batch_max_bytes - size - count * frame
    most = min(MOST_AT_ONCE, pool.batch_max_requests - count, bytes_left // frame)
    found: list[TakenJob] = []
    while most > 0 and not found:
        most_bytes = max(0, bytes_left - most * frame)
        found = services.collect(pool.pk, batch.pk, batch.model, most, most_bytes).jobs
        # Fewer frames leave more room for a large one.
        most //= 2
    return found


def _pools() -> Iterator[Pool]:
    yield from Pool.objects.filter(batch=True, paused=False, provider__in=list(ENDPOINTS))


def _ripe(pool: Pool, now: datetime) -> list[Group]:
    """Groups that are due for a batch and have none that waits to be filled."""
    waiting = JobBatch.objects.filter(pool_id=pool.pk, state=JobBatch.State.COLLECTING)
    taken = set(waiting.values_list("model", flat=True))
    frame = ENDPOINTS[pool.provider].frame_bytes
    sent_by = now + timedelta(hours=pool.batch_window_hours) + LAST_CALL
    return [
        group
        for group in groups(pool, now)
        if group.model not in taken
        and (
            group.jobs >= pool.batch_max_requests
            or group.size + group.jobs * frame >= pool.batch_max_bytes
            or group.oldest <= now - timedelta(seconds=pool.batch_collect_seconds)
            or group.soonest <= sent_by
        )
    ]


def _open(pool: Pool, now: datetime) -> None:
    """Two workers at once would make two small batches of what is one."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [LOCK, pool.pk % 2**31])
        if not cursor.fetchone()[0]:
            return
        for group in _ripe(pool, now):
            JobBatch.objects.create(
                id=new_id(pool.pk),
                pool_id=pool.pk,
                model=group.model,
                created_at=now,
                next_look_at=now,
            )
