"""Gives a job its place in a queue within a batch, or refuses it at the door."""

from zlib import crc32

from budget.ledger.admitting import admission_of
from budget.ledger.batch import IDEMPOTENCY_SPAN, Batch, amounts
from budget.ledger.clock import MILLISECOND, moment
from budget.ledger.errors import Forbidden, Implausible, KeyReused, UnknownClass
from budget.ledger.ids import made_at
from budget.ledger.job_operations import Enqueue, Enqueued
from budget.ledger.job_rows import NewJob, StoredJob
from budget.ledger.operations import Admission
from budget.ledger.rows import DecidedCall, json_text
from budget.ledger.view import queue_view
from budget.ledger.wording import refused_place_in_words
from budget.providers import Tokens
from budget.rule.admission import PAUSED_RETRY
from budget.rule.decision import Decision, Reason
from budget.rule.dequeue import Queue, catch_up, service_margin
from budget.rule.idle import largest_calls
from budget.rule.terms import SECOND, ClassTerms, PoolTerms

SLOWEST_RATE = 1e-3
"""Jobs per second below which nothing is taken, as far as anybody can say."""
UNKNOWN_RETRY = 5 * SECOND
"""When to ask again for a place in a full queue from which nothing is taken."""
LONGEST_RETRY = 600 * SECOND
"""When to ask again at the latest: a rate may rise."""


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
    deadline = _deadline(batch, operation, member)
    queue = batch.queue(member.slug)
    refusal = _refusal(batch, operation, member, queue, deadline)
    if refusal is not None:
        return _refuse(batch, operation, member, queue, deadline, refusal)
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
    return place


def _member(batch: Batch, operation: Enqueue) -> ClassTerms:
    slug = operation.request.workload_class
    c = batch.terms.class_index.get(slug)
    if c is None:
        raise UnknownClass(f"There is no workload class {slug!r}.")
    if operation.caller.classes is not None and slug not in operation.caller.classes:
        raise Forbidden(f"This key may not use the workload class {slug!r}.")
    member = batch.terms.classes[c]
    if member.tier == "interactive":
        raise Implausible(
            "workload_class", f"{slug} is interactive and never queues: ask for an admission."
        )
    return member


def _deadline(batch: Batch, operation: Enqueue, member: ClassTerms) -> int:
    wanted = operation.request.deadline_ms
    if wanted is None:
        return batch.now + member.deadline
    if wanted * MILLISECOND > member.deadline:
        raise Implausible(
            "deadline_ms",
            f"may only shorten the deadline of {member.slug}, "
            f"which is {member.deadline // MILLISECOND} ms.",
        )
    return batch.now + wanted * MILLISECOND


def _refusal(
    batch: Batch, operation: Enqueue, member: ClassTerms, queue: Queue, deadline: int
) -> Decision | None:
    """Why the job gets no place; the reasons in their closed order."""
    c = batch.terms.class_index[member.slug]
    if member.draining:
        return _shed(c, "paused", _spread(operation, PAUSED_RETRY))
    if batch.terms.mode == "enforce" and (limit := _never_fits(batch, operation, c, deadline)):
        return _shed(c, "never_fits", None, limit)
    tokens = operation.request.input_tokens + operation.request.output_tokens
    if member.queue_tokens is not None and tokens > member.queue_tokens:
        return _shed(c, "never_fits", None)
    if deadline - service_margin(member, queue) <= batch.now:
        return _shed(c, "deadline_unmeetable", None)
    over = _jobs_over(member, queue, tokens)
    if over <= 0:
        return None
    rate = queue.taken.now(batch.now)
    wait = int(over / rate * SECOND) if rate > SLOWEST_RATE else UNKNOWN_RETRY
    return _shed(c, "queue_full", _spread(operation, min(max(SECOND, wait), LONGEST_RETRY)))


def _jobs_over(member: ClassTerms, queue: Queue, tokens: int) -> float:
    """How many jobs must leave the queue before one of so many tokens has room."""
    over = -1.0
    if member.queue_limit is not None:
        over = queue.depth + 1 - member.queue_limit
    if member.queue_tokens is not None and queue.tokens:
        excess = queue.tokens + tokens - member.queue_tokens
        over = max(over, excess * queue.depth / queue.tokens)
    return over


def _never_fits(batch: Batch, operation: Enqueue, c: int, deadline: int) -> str | None:
    """The limit that could never admit the job; None if some way is open to it."""
    limit = _too_large(batch.terms, operation, c)
    if (
        limit is not None
        and operation.request.model
        and _can_be_collected(batch, batch.terms.classes[c], deadline)
        and _too_large(batch.terms.at_endpoint, operation, c) is None
    ):
        return None
    return limit


def _can_be_collected(batch: Batch, member: ClassTerms, deadline: int) -> bool:
    """Whether the deadline leaves time for the batch endpoint."""
    horizon = batch.horizon(member)
    return horizon is not None and deadline >= horizon


def _too_large(terms: PoolTerms, operation: Enqueue, c: int) -> str | None:
    request = operation.request
    size = amounts(terms, Tokens(request.input_tokens, request.output_tokens))
    for limit, largest in zip(terms.limits, largest_calls(terms)[c], strict=True):
        if size[limit.unit] > largest:
            return limit.name
    return None


def _shed(c: int, reason: Reason, wait: int | None, limit: str | None = None) -> Decision:
    return Decision(
        admitted=False,
        workload_class=c,
        reason=reason,
        limit=limit,
        retryable=wait is not None,
        retry_after_ms=None if wait is None else wait // MILLISECOND,
    )


def _spread(operation: Enqueue, wait: int) -> int:
    """Between one and two times the wait, so that producers don't all come back together."""
    return wait + wait * (crc32(operation.id.bytes) % 1000) // 1000


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
    job = batch.know(_as_stored(row))
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


def _as_stored(row: NewJob) -> StoredJob:
    return StoredJob(
        id=row.id,
        workload_class=row.workload_class,
        key_prefix=row.key_prefix,
        idempotency_key=row.idempotency_key,
        fingerprint=row.fingerprint,
        batchable=row.batchable,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        source=row.source,
        tags=row.tags,
        enqueued_at=row.enqueued_at,
        deadline=row.deadline,
        state="queued",
        not_before=None,
        attempts=0,
        call_id=None,
        taking_id=None,
        batch_id=None,
        started_at=None,
        finished_at=None,
        error="",
        size=len(row.args.encode()),
        length=0,
        heard=False,
    )


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


def _refuse(
    batch: Batch,
    operation: Enqueue,
    member: ClassTerms,
    queue: Queue,
    deadline: int,
    decision: Decision,
) -> Admission:
    """Record the refusal as a call that was shed, where people look for those."""
    request = operation.request
    row = DecidedCall(
        id=operation.id,
        workload_class=member.slug,
        untagged=False,
        key_prefix=operation.caller.key_prefix,
        idempotency_key=None,
        fingerprint="",
        input_tokens=request.input_tokens,
        output_tokens=request.output_tokens,
        source=request.source,
        tags=request.tags,
        deadline=deadline,
        position=batch.next_position(),
        state="shed",
        reason=decision.reason or "",
        limit=decision.limit or "",
        retry_after_ms=decision.retry_after_ms,
        detail=refused_place_in_words(batch.terms, decision, queue),
        arithmetic=json_text([]),
        charges=json_text([]),
        lease_expires=None,
        job_id=operation.id,
    )
    batch.changes.decided.append(row)
    tokens = request.input_tokens + request.output_tokens
    batch.balances.minute.count_decision(member.slug, decision, tokens, charged=0)
    return Admission(
        id=row.id,
        admitted=False,
        pool=batch.terms.slug,
        workload_class=member.slug,
        tier=member.tier,
        deadline=moment(deadline),
        lease_expires=None,
        charged={},
        policy_version=batch.terms.version,
        reason=decision.reason,
        limit=decision.limit,
        retryable=decision.retryable,
        retry_after_ms=decision.retry_after_ms,
        detail=row.detail,
        depth=queue.depth,
    )
