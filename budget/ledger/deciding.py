"""What a batch does about jobs: what it reads for them, and which decision each gets."""

from collections.abc import Iterable, Sequence
from uuid import UUID

import psycopg

from budget.ledger import job_queries, store
from budget.ledger.batch import Batch
from budget.ledger.enqueueing import enqueue
from budget.ledger.finishing import cancel, finish
from budget.ledger.job_operations import (
    CancelJob,
    Collect,
    Enqueue,
    Finish,
    JobAnswer,
    JobOperation,
    Take,
)
from budget.ledger.job_rows import StoredJob
from budget.ledger.lineup import ensure_counted, line_up, make_room
from budget.ledger.rows import StoredCall, json_text
from budget.ledger.store import WantedJobs
from budget.ledger.submission import Submission
from budget.ledger.taking import collect, take

MOST_COLLECTED = 500
"""Jobs collected per batch of operations, so that none holds the lock for long."""


def wanted_jobs(submissions: Sequence[Submission]) -> WantedJobs:
    """The jobs that operations name, or may have made or taken without our hearing of it."""
    ids: list[UUID] = []
    keys: list[tuple[str, str]] = []
    takings: list[UUID] = []
    for submission in submissions:
        operation, again = submission.operation, submission.attempted is not None
        if isinstance(operation, Finish | CancelJob):
            ids.append(operation.id)
        elif isinstance(operation, Enqueue):
            if again:
                ids.append(operation.id)
            if operation.request.idempotency_key is not None:
                keys.append((operation.caller.key_prefix, operation.request.idempotency_key))
        elif isinstance(operation, Take | Collect) and again:
            takings.append(operation.id)
    return WantedJobs(ids, sorted(set(keys)), takings)


def prepare_queues(
    connection: psycopg.Connection,
    pipeline: psycopg.Pipeline,
    batch: Batch,
    submissions: Sequence[Submission],
) -> None:
    """Read of the queues what the operations need."""
    takes = [s.operation for s in submissions if isinstance(s.operation, Take)]
    if takes:
        tiers = {tier for operation in takes for tier in operation.tiers}
        line_up(connection, pipeline, batch, tiers, sum(operation.most for operation in takes))
    wanted: dict[str, list[int]] = {}
    for submission in submissions:
        operation = submission.operation
        if isinstance(operation, Enqueue):
            tokens = operation.request.input_tokens + operation.request.output_tokens
            wanted.setdefault(operation.request.workload_class, []).append(tokens)
        elif isinstance(operation, Collect):
            _read_collectable(connection, pipeline, batch, operation)
    if wanted:
        make_room(connection, pipeline, batch, wanted)
    _read_calls(connection, pipeline, batch, submissions)


def decide_job(batch: Batch, operation: JobOperation, attempted: int | None) -> JobAnswer:
    """Decide one operation on jobs."""
    if isinstance(operation, Enqueue):
        return enqueue(batch, operation, attempted)
    if isinstance(operation, Take):
        return take(batch, operation, attempted)
    if isinstance(operation, Collect):
        return collect(batch, operation, attempted)
    if isinstance(operation, Finish):
        return finish(batch, operation)
    return cancel(batch, operation)


def read_lapsed_jobs(
    connection: psycopg.Connection,
    pipeline: psycopg.Pipeline,
    batch: Batch,
    ended: Iterable[StoredCall],
) -> None:
    """Read the jobs of calls whose lease has ended."""
    ensure_counted(connection, pipeline, batch)
    ids = [call.job_id for call in ended if call.job_id is not None]
    found = store.read_jobs(connection, batch.pool_id, WantedJobs(ids=ids))
    pipeline.sync()
    for cursor in found:
        for row in cursor:
            batch.know(StoredJob(*row))


def _read_collectable(
    connection: psycopg.Connection, pipeline: psycopg.Pipeline, batch: Batch, operation: Collect
) -> None:
    horizons = [(m.slug, batch.horizon(m)) for m in batch.terms.classes if not m.paused]
    classes = [{"slug": slug} for slug, horizon in horizons if horizon is not None]
    if not classes or batch.terms.paused:
        return
    found = connection.execute(
        job_queries.COLLECTABLE,
        {
            "pool": batch.pool_id,
            "classes": json_text(classes),
            "horizon": next(horizon for _, horizon in horizons if horizon is not None),
            "model": operation.model,
            "most": min(operation.most, MOST_COLLECTED),
        },
        prepare=True,
    )
    pipeline.sync()
    batch.collectable[operation.id] = [batch.know(StoredJob(*row)) for row in found]


def _read_calls(
    connection: psycopg.Connection,
    pipeline: psycopg.Pipeline,
    batch: Batch,
    submissions: Sequence[Submission],
) -> None:
    """Read the calls of jobs taken in a transaction of unknown fate."""
    if not any(
        isinstance(s.operation, Take | Collect) and s.attempted is not None for s in submissions
    ):
        return
    ids = [job.call_id for job in batch.jobs.values() if job.call_id is not None]
    found = store.read_calls(connection, batch.pool_id, ids)
    pipeline.sync()
    for row in found:
        batch.stored(StoredCall(*row))
