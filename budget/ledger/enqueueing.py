"""Gives a job its place in a queue within a batch, or the one it has already."""

from budget.ledger.admitting import admission_of
from budget.ledger.asked import class_of, deadline_of
from budget.ledger.batch import IDEMPOTENCY_SPAN, Batch
from budget.ledger.clock import moment
from budget.ledger.errors import Implausible, KeyReused, UnknownClass
from budget.ledger.ids import made_at
from budget.ledger.job_operations import Enqueue, Enqueued
from budget.ledger.job_rows import NewJob, StoredJob
from budget.ledger.operations import Admission
from budget.ledger.refusing import refusal, refuse
from budget.ledger.view import queue_view
from budget.rule.dequeue import Queue, catch_up
from budget.rule.terms import ClassTerms


def enqueue(batch: Batch, operation: Enqueue, attempted: int | None) -> Enqueued | Admission:
    """Give a job its place, or answer with its refusal, or with the place it has already."""
    if attempted is not None:
        if job := batch.jobs.get(operation.id):
            return _place(batch, job)
        if call := batch.calls.get(operation.id):
            return admission_of(batch.terms, call)
    if earlier := _earlier(batch, operation):
        return earlier
    member = _member(batch, operation)
    c = batch.terms.class_index[member.slug]
    deadline = deadline_of(batch, c, operation.request.deadline_ms)
    queue = batch.queue(member.slug)
    if (refused := refusal(batch, operation, member, queue, deadline)) is not None:
        return refuse(batch, operation, member, queue, deadline, refused)
    return _accept(batch, operation, member, queue, deadline)


def _earlier(batch: Batch, operation: Enqueue) -> Enqueued | None:
    """The job of the same idempotency key, if it counts still."""
    key = operation.request.idempotency_key
    if key is None:
        return None
    job = batch.keyed_jobs.get((operation.caller.key_prefix, key))
    if job is None:
        return None
    if batch.now - made_at(job.id) >= IDEMPOTENCY_SPAN:
        batch.forget_key(job)
        return None
    if job.fingerprint != operation.fingerprint:
        raise KeyReused("This idempotency key came before with another job.")
    if not job.heard and job.finished_at is None:
        # From now on nobody's giving up cancels it.
        job.heard = True
        job.note(batch.now, "asked_again")
        batch.change(job)
    place = _place(batch, job)
    place.replayed = True
    if place.position:
        # Newer ones may be before it by now.
        place.position = place.queue.depth
    return place


def _member(batch: Batch, operation: Enqueue) -> ClassTerms:
    slug = operation.request.workload_class
    member = batch.terms.classes[class_of(batch, slug, operation.caller)]
    if member.tier == "interactive":
        raise Implausible(
            "workload_class", f"{slug} is interactive and never queues: ask for an admission."
        )
    return member


def _accept(
    batch: Batch, operation: Enqueue, member: ClassTerms, queue: Queue, deadline: int
) -> Enqueued:
    request = operation.request
    row = NewJob(
        id=operation.id,
        workload_class=member.slug,
        key_prefix=operation.caller.key_prefix,
        idempotency_key=request.idempotency_key,
        fingerprint=operation.fingerprint,
        task=request.task,
        args=request.args,
        batchable=bool(request.model),
        model=request.model or "",
        input_tokens=request.input_tokens,
        output_tokens=request.output_tokens,
        source=request.source,
        tags=request.tags,
        enqueued_at=batch.now,
        deadline=deadline,
    )
    batch.changes.enqueued.append(row)
    job = batch.know(row.stored())
    if not queue.depth:
        catch_up(batch.terms, batch.queues, member.slug)
    queue.enqueue(job.tokens, deadline, batch.now)
    _foresee(batch, member, queue, row)
    batch.balances.minute.count_offer(member.slug, job.tokens)
    return _place(batch, job)


def _foresee(batch: Batch, member: ClassTerms, queue: Queue, row: NewJob) -> None:
    """A new job is ready at once, unless it is left for the batch endpoint as long as it can."""
    horizon = batch.horizon(member)
    if not row.batchable or horizon is None or row.deadline < horizon:
        queue.ready_at = 0
    elif queue.ready_at:
        queue.ready_at = min(queue.ready_at, batch.now + row.deadline - horizon)


def _place(batch: Batch, job: StoredJob) -> Enqueued:
    member = batch.member(job.workload_class)
    if member is None:
        raise UnknownClass(f"The workload class {job.workload_class!r} is gone.")
    queue = queue_view(batch.terms, batch.balances, member)
    position = 0
    if job.state == "queued":
        position = 1 if queue.order == "newest_first" else queue.depth
    return Enqueued(
        id=job.id, state=job.state, deadline=moment(job.deadline), position=position, queue=queue
    )
