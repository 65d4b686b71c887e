"""The jobs of a batch, and how they leave it."""

import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from uuid import UUID

from django.db import connections
from django.db.models import BigIntegerField, Exists, Func, OuterRef, QuerySet, Sum
from django.utils import timezone

from budget import services
from budget.jobs.batches import hold
from budget.jobs.batches.endpoint import Request
from budget.jobs.chunks import chunks
from budget.ledger.job_operations import Finish
from budget.models import Call, Job, JobBatch
from budget.services import UnknownJob

logger = logging.getLogger(__name__)

THREADS = 8
"""How many endings are told at once: the ledger writes together those that come together."""
CHUNK = 200


class Bytes(Func):
    """Length of a text in bytes, which PostgreSQL knows without reading it."""

    function = "octet_length"
    output_field = BigIntegerField()


def running(batch: JobBatch) -> "QuerySet[Job]":
    """Those at the batch endpoint, or on their way; a job that runs by itself by now is none."""
    collected = Call.objects.filter(pk=OuterRef("call_id"), of_batch=True)
    mine = Job.objects.filter(batch_id=batch.pk, state=Job.State.RUNNING)
    # Without arguments and trail, which may be large.
    return mine.filter(Exists(collected)).order_by("pk").only("pk", "call_id")


def size(batch: JobBatch) -> tuple[int, int]:
    """How many there are, and the bytes of their arguments."""
    found = running(batch).aggregate(size=Sum(Bytes("args")))
    return running(batch).count(), found["size"] or 0


def requests(batch: JobBatch) -> Iterator[Request]:
    """What they ask of the provider, always in the same order."""
    for job_id, call_id, args in running(batch).values_list("pk", "call_id", "args").iterator():
        yield Request(custom_id(job_id, call_id), args)


def custom_id(job_id: UUID, call_id: UUID | None) -> str:
    """How the provider knows an attempt at a job: as long as Anthropic allows."""
    assert call_id is not None, "a running job has a call"
    return job_id.hex + call_id.hex


def named_by(custom_id: str) -> tuple[UUID, UUID] | None:
    """The job and the call of a custom id; None if it is none of ours."""
    try:
        return UUID(hex=custom_id[:32]), UUID(hex=custom_id[32:])
    except ValueError:
        return None


def give_back_cancelled(batch: JobBatch) -> int:
    """Give back the tokens of jobs that were cancelled before they were sent; how many."""
    cancelled = Job.objects.filter(batch_id=batch.pk, state=Job.State.CANCELLED)
    open_calls = Call.objects.filter(pk=OuterRef("call_id"), of_batch=True, settled_at=None)
    unsent = cancelled.filter(Exists(open_calls)).only("pk", "call_id")
    return finish_all(sent_back(job, "") for job in unsent)


def send_back_late(batch: JobBatch, latest: datetime) -> int:
    """Send back those due before a moment, to be run one by one; how many."""
    late = running(batch).filter(deadline__lt=latest)
    error = "It could not be sent to the batch endpoint in time."
    return finish_all(sent_back(job, error) for job in late)


def sent_back(job: Job, error: str, rest_seconds: float | None = None) -> Finish:
    """The ending of an attempt that never ran."""
    assert job.call_id is not None, "given to it as it was collected"
    return Finish(
        id=job.pk,
        call_id=job.call_id,
        ending="sent_away",
        outcome="cancelled",
        error=error,
        rest_seconds=rest_seconds,
    )


def rejected(job: Job, error: str) -> Finish:
    """The ending of an attempt that the provider wouldn't run, now or ever."""
    assert job.call_id is not None, "given to it as it was collected"
    return Finish(
        id=job.pk,
        call_id=job.call_id,
        ending="failed",
        outcome="failed",
        input_tokens=0,
        output_tokens=0,
        error=error,
        final=True,
    )


def faulted(job: Job, faults: dict[str, str], error: str) -> Finish:
    """The ending of an attempt whose batch was rejected, for faults of some requests or of all."""
    if not faults:
        return rejected(job, error)
    own = faults.get(custom_id(job.pk, job.call_id))
    if own is None:
        return sent_back(job, "Another request of its batch was rejected.")
    return rejected(job, own)


def finish_all(endings: Iterable[Finish]) -> int:
    """Tell the ledger these endings; how many. Raises LedgerUnavailable."""
    count = 0
    with ThreadPoolExecutor(THREADS) as threads:
        for chunk in chunks(endings, CHUNK):
            count += len(chunk)
            list(threads.map(_finish, [chunk[start::THREADS] for start in range(THREADS)]))
    return count


def close(batch: JobBatch, state: JobBatch.State, error: str = "") -> None:
    """Nothing more is to be done about the batch."""
    jobs = Job.objects.filter(batch_id=batch.pk)
    hold.keep(
        batch,
        state=state,
        error=error,
        finished_at=timezone.now(),
        # Also those whose result came too late.
        succeeded=jobs.filter(result__isnull=False).count(),
        failed=jobs.filter(state=Job.State.FAILED).count(),
    )
    logger.info("Batch %s is %s. %s", batch.pk, state, error)


def _finish(endings: list[Finish]) -> None:
    try:
        for ending in endings:
            try:
                services.finish(ending)
            except UnknownJob as error:
                logger.warning("%s", error)
    finally:
        connections.close_all()
