"""Ends attempts at jobs, and jobs, within a batch."""

from collections.abc import Iterable
from zlib import crc32

from msgspec import structs

from budget.ledger.batch import Batch
from budget.ledger.errors import AlreadySettled, JobEnded, UnknownJob
from budget.ledger.job_operations import CancelJob, Finish, Finished
from budget.ledger.job_rows import LOST, StoredJob
from budget.ledger.operations import NEVER_LEFT, Settle
from budget.ledger.rows import StoredCall
from budget.ledger.settling import conclude
from budget.providers.answers import storable
from budget.rule.dequeue import Queue, block, service_margin, take_back
from budget.rule.terms import SECOND

FIRST_REST, LONGEST_REST = 1.0, 60.0
"""Seconds that a job rests after a failed attempt, doubled each time."""
LONGEST_PROVIDER_REST = 300.0
"""Seconds that a class rests at most, however long its provider asked for: then one job tries."""
LOST_SPREAD = 2.0
"""A job whose attempt was lost rests longer by up to so many times, by its id."""
MOST_DOUBLINGS = 10
LONGEST_ERROR = 2000
"""Characters of an error that are kept."""


def finish(batch: Batch, operation: Finish) -> Finished:
    """Settle an attempt's call, then end the job or send it back, if it is still its own."""
    job = batch.jobs.get(operation.id)
    call = batch.calls.get(operation.call_id)
    if job is None or call is None or call.job_id != job.id:
        raise UnknownJob(f"There is no job {operation.id} with an attempt {operation.call_id}.")
    _settle(batch, operation, call)
    operation = structs.replace(operation, error=storable(operation.error)[:LONGEST_ERROR])
    if job.call_id != operation.call_id:
        return Finished(id=job.id, state=job.state, accepted=False)
    if job.state != "running":
        # By this attempt, as it told before; or the job was cancelled, or its lease is over.
        accepted = job.state != "cancelled" and not call.lapsed
        return Finished(id=job.id, state=job.state, accepted=accepted)
    queue = _no_longer_running(batch, job)
    _learn(batch, queue, job, operation, call)
    if operation.ending == "succeeded":
        _succeed(batch, job, operation)
    elif operation.ending == "failed":
        _fail(batch, job, operation)
    else:
        _send_back(batch, job, operation, call)
    return Finished(id=job.id, state=job.state, accepted=True)


def cancel(batch: Batch, operation: CancelJob) -> Finished:
    """End a job on behalf of its caller; a running one's attempt no longer counts."""
    job = batch.jobs.get(operation.id)
    if job is None or operation.key_prefix not in ("", job.key_prefix):
        raise UnknownJob(f"There is no job {operation.id}.")
    if operation.forget_key and job.heard:
        raise JobEnded("Another caller heard of its place.")
    if job.state == "queued":
        batch.queue(job.workload_class).leave(1, job.tokens, batch.now)
        batch.end(job, "cancelled", operation.reason)
    elif job.state == "running":
        _no_longer_running(batch, job)
        dropped = "Cancelled while it ran: its result is dropped."
        batch.end(job, "cancelled", f"{dropped} {operation.reason}".strip())
    elif job.state != "cancelled":
        raise JobEnded(f"The job has {job.state} already: there is nothing to cancel.")
    if operation.forget_key:
        batch.forget_key(job)
    return Finished(id=job.id, state=job.state, accepted=True)


def lapse_jobs(batch: Batch, calls: Iterable[StoredCall]) -> None:
    """Give jobs whose lease is over to somebody else, or end those that had their attempts."""
    for call in calls:
        job = None if call.job_id is None else batch.jobs.get(call.job_id)
        if job is None or job.state != "running" or job.call_id != call.id:
            continue
        queue = _no_longer_running(batch, job)
        if queue.failures and (job.started_at or 0) >= queue.failed_at:
            # It was to see whether the provider is back: another one does now.
            queue.reconsider(batch.now)
        error = f"Attempt {job.attempts} never reported back before its lease was over."
        if job.attempts >= _most_attempts(batch, job):
            batch.end(job, "failed", error)
        elif job.deadline <= batch.now:
            batch.end(job, "expired", error)
            batch.balances.minute.count_expired(job.workload_class, 1)
        else:
            job.lost = True
            rest = _longer_rest(job.attempts) * (1 + LOST_SPREAD * _part_of(job))
            _requeue(batch, job, LOST, error, min(batch.now + int(rest * SECOND), job.deadline))


def _no_longer_running(batch: Batch, job: StoredJob) -> Queue:
    """The queue of a running job, which is told that an attempt is over."""
    queue = batch.queue(job.workload_class)
    queue.running = max(0, queue.running - 1)
    if job.lost:
        # Others that run alone may, now.
        queue.alone_until = queue.ready_at = 0
    return queue


def _settle(batch: Batch, operation: Finish, call: StoredCall) -> None:
    used = operation.input_tokens, operation.output_tokens
    if None in used:
        never_left = operation.outcome in NEVER_LEFT
        used = (0, 0) if never_left else (call.input_tokens, call.output_tokens)
    settlement = Settle(
        id=call.id,
        outcome=operation.outcome,
        input_tokens=used[0] or 0,
        output_tokens=used[1] or 0,
        cached_input_tokens=operation.cached_input_tokens,
        curbed=True,
    )
    try:
        conclude(batch, call, settlement)
    except AlreadySettled:
        # The same attempt, told once more with other numbers: the first ones stand.
        return


def _learn(batch: Batch, queue: Queue, job: StoredJob, operation: Finish, call: StoredCall) -> None:
    """What an ending tells about those that wait."""
    for other in batch.queues.values():
        if other.waits_for_end and not other.failures:
            other.reconsider(batch.now)
    started_at = job.started_at or batch.now
    if call.of_batch or operation.ending == "sent_away":
        return
    if operation.ending == "succeeded":
        queue.service.observe((batch.now - started_at) / SECOND)
    if queue.failures and started_at >= queue.failed_at:
        queue.take_again(batch.now)


def _succeed(batch: Batch, job: StoredJob, operation: Finish) -> None:
    job.result = operation.result
    if batch.now > job.deadline:
        late = (batch.now - job.deadline) / SECOND
        batch.end(job, "expired", f"Its result came {late:,.1f} s after its deadline.")
        batch.balances.minute.count_expired(job.workload_class, 1)
    else:
        batch.end(job, "succeeded", "")


def _fail(batch: Batch, job: StoredJob, operation: Finish) -> None:
    member = batch.member(job.workload_class)
    rest = operation.rest_seconds
    if rest is None:
        rest = _longer_rest(job.attempts)
    ready_at = batch.now + int(rest * SECOND)
    margin = service_margin(member, batch.queue(job.workload_class)) if member else 0
    if operation.final or job.attempts >= _most_attempts(batch, job):
        batch.end(job, "failed", operation.error)
    elif ready_at + margin >= job.deadline:
        batch.end(job, "failed", f"{operation.error} There was no time for another attempt.")
    else:
        _requeue(batch, job, "failed", operation.error, ready_at)


def _send_back(batch: Batch, job: StoredJob, operation: Finish, call: StoredCall) -> None:
    """The attempt doesn't count. A class that was refused asks the provider less and less often."""
    job.attempts = max(0, job.attempts - 1)
    queue = batch.queue(job.workload_class)
    take_back(queue, job.started_at or batch.now, batch.now)
    rest = operation.rest_seconds
    if call.of_batch or operation.outcome == "cancelled":
        # No longer than to its deadline, when it is to be dropped.
        ready_at = min(batch.now + int(rest * SECOND), job.deadline) if rest else None
        _requeue(batch, job, "sent_away", operation.error, ready_at)
        return
    _requeue(batch, job, "sent_away", operation.error, None)
    until = 0
    if rest is not None:
        until = batch.now + int(min(rest, LONGEST_PROVIDER_REST) * SECOND)
    if (job.started_at or batch.now) < queue.failed_at:
        until = max(until, queue.blocked_until)
    else:
        queue.send_away(batch.now)
        until = until or batch.now + int(_longer_rest(queue.failures) * SECOND)
    block(queue, None, until)


def _requeue(batch: Batch, job: StoredJob, event: str, error: str, ready_at: int | None) -> None:
    """Back into the queue, over its bound if need be; ready at once or after a rest."""
    queue = batch.queue(job.workload_class)
    queue.enqueue(job.tokens, job.deadline, batch.now)
    queue.oldest = min(queue.oldest, job.enqueued_at)
    if ready_at is None:
        queue.ready_at = 0
    elif queue.ready_at or queue.depth == 1:
        queue.ready_at = min(queue.ready_at or ready_at, ready_at)
    job.state, job.not_before, job.error = "queued", ready_at, error
    job.note(batch.now, event, error)
    batch.change(job)


def _longer_rest(times: int) -> float:
    """Seconds to rest after something went wrong so many times, 1 or more."""
    return min(LONGEST_REST, FIRST_REST * 2 ** min(times - 1, MOST_DOUBLINGS))


def _part_of(job: StoredJob) -> float:
    """A number from 0 to 1, another one for each job."""
    return crc32(job.id.bytes) % 1000 / 1000


def _most_attempts(batch: Batch, job: StoredJob) -> int:
    member = batch.member(job.workload_class)
    return 1 if member is None else member.max_attempts
