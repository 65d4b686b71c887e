"""Takes jobs out of their queues within a batch: chooses, admits and leases them."""

from uuid import UUID

from budget.ledger.batch import Batch, amounts
from budget.ledger.clock import MILLISECOND, moment
from budget.ledger.ids import new_id
from budget.ledger.job_operations import Collect, Take, Taken, TakenJob
from budget.ledger.job_rows import StoredJob
from budget.ledger.rows import DecidedCall, json_text
from budget.ledger.wording import refusal_in_words, with_last
from budget.providers import Tokens
from budget.rule import dequeue
from budget.rule.admission import offer_job
from budget.rule.decision import Decision
from budget.rule.pool import Offer, PoolState
from budget.rule.terms import SECOND, PoolTerms

PROBE_SECONDS = 30
"""How long a queue whose provider sent attempts away waits for the outcome of one more."""
AFTER_WINDOW = 3600 * SECOND
"""How much longer than its window a batch may take before its jobs are given up."""
TOO_LATE = "Not run: it could not be admitted in time to be done by its deadline."


def take(batch: Batch, operation: Take, attempted: int | None) -> Taken:
    """Start the jobs that are next, up to so many; see `budget.rule.dequeue`.

    A class whose first job is refused is closed until that job's moment.
    """
    if attempted is not None and (before := _taken_before(batch, operation.id)):
        return before
    jobs: list[TakenJob] = []
    while len(jobs) < operation.most and (job := _next(batch, operation)) is not None:
        started = _try(batch, operation, job)
        if started is not None:
            jobs.append(started)
    moment_due = dequeue.due(batch.terms, batch.queues, operation.tiers, batch.now)
    return Taken(jobs=jobs, due=None if moment_due is None else moment(moment_due))


def collect(batch: Batch, operation: Collect, attempted: int | None) -> Taken:
    """Start jobs for one batch of the batch endpoint, as far as its own limits admit them."""
    if attempted is not None and (before := _taken_before(batch, operation.id)):
        return before
    state, endpoint = batch.balances.endpoint, batch.terms.batch
    if state is None or endpoint is None:
        return Taken(jobs=[], due=None)
    started: list[TakenJob] = []
    size = 0
    for job in batch.collectable.get(operation.id, []):
        if job.state != "queued":
            continue
        if job.size > endpoint.max_bytes:
            _let_run_alone(batch, job)
            continue
        if job.size > operation.most_bytes:
            continue
        if size + job.size > operation.most_bytes:
            break
        decision = _decide(batch, batch.terms.at_endpoint, state, job, job.deadline)
        if decision.reason == "never_fits":
            _let_run_alone(batch, job)
            continue
        if not decision.admitted:
            break
        size += job.size
        job.batch_id = operation.batch_id
        dequeue.depart(batch.queue(job.workload_class), job.tokens, batch.now)
        lease = endpoint.window + AFTER_WINDOW
        started.append(_start(batch, operation.id, job, decision, lease, of_batch=True))
    return Taken(jobs=started, due=None)


def _let_run_alone(batch: Batch, job: StoredJob) -> None:
    """Leave a job that no batch will ever hold to `take`, or it would hide those behind it."""
    job.batchable = False
    job.note(batch.now, "runs_alone", "It is larger than any batch may be.")
    batch.queue(job.workload_class).ready_at = 0
    batch.change(job)


def _taken_before(batch: Batch, taking_id: UUID) -> Taken | None:
    """What a transaction of unknown fate took, if it did."""
    jobs = [
        job for job in batch.jobs.values() if job.taking_id == taking_id and job.state == "running"
    ]
    found = [
        _taken_job(batch, job, call.lease_expires or batch.now)
        for job in jobs
        if job.call_id is not None and (call := batch.calls.get(job.call_id)) is not None
    ]
    return Taken(jobs=found, due=moment(batch.now)) if found else None


def _next(batch: Batch, operation: Take) -> StoredJob | None:
    terms = batch.terms
    if terms.paused:
        return None
    for waiting in batch.ready.values():
        # This very batch may have cancelled or collected some, or begun one that runs alone.
        while waiting and (waiting[0].state != "queued" or _keeps_away(batch, waiting[0])):
            waiting.pop(0)
    open_classes = [
        c
        for c, member in enumerate(terms.classes)
        if member.tier in operation.tiers
        and not member.paused
        and batch.ready.get(member.slug)
        and batch.queue(member.slug).blocked_until <= batch.now
    ]
    barred = dequeue.barred(terms, batch.queues, batch.now)
    c = dequeue.next_class(terms, batch.queues, open_classes, barred)
    return None if c is None else batch.ready[terms.classes[c].slug][0]


def _keeps_away(batch: Batch, job: StoredJob) -> bool:
    return batch.runs_alone(job.workload_class) and _runs_alone(batch, job)


def _runs_alone(batch: Batch, job: StoredJob) -> bool:
    member = batch.member(job.workload_class)
    return member is not None and dequeue.runs_alone(job.lost, job.attempts, member.max_attempts)


def _try(batch: Batch, operation: Take, job: StoredJob) -> TakenJob | None:
    """Start a job that the rule admits; else block its class, or end it if it never will be."""
    c = batch.terms.class_index[job.workload_class]
    member, queue = batch.terms.classes[c], batch.queue(job.workload_class)
    latest = job.deadline - dequeue.service_margin(member, queue)
    decision = _decide(batch, batch.terms, batch.balances.pool, job, latest)
    if decision.admitted:
        batch.ready[job.workload_class].pop(0)
        dequeue.take(batch.terms, batch.queues, c, job.tokens, batch.now)
        if _runs_alone(batch, job):
            queue.alone_until = batch.now + member.max_call_time
        started = _start(batch, operation.id, job, decision, member.max_call_time, of_batch=False)
        if queue.failures:
            # One at a time until the provider takes one again.
            dequeue.block(queue, None, batch.now + PROBE_SECONDS * SECOND)
        return started
    if decision.reason == "never_fits":
        _end_unrun(batch, job, "failed", refusal_in_words(batch.terms, decision))
    elif decision.retry_after_ms is None:
        _end_unrun(batch, job, "expired", with_last(TOO_LATE, job.error))
        batch.balances.minute.count_expired(job.workload_class, 1)
    else:
        wait = max(dequeue.SHORTEST_WAIT, decision.retry_after_ms * MILLISECOND)
        dequeue.block(queue, decision.reason, batch.now + wait, decision.limit)
        job.note(batch.now, "refused", refusal_in_words(batch.terms, decision))
        if job.steps:
            batch.change(job)
    return None


def _end_unrun(batch: Batch, job: StoredJob, state: str, error: str) -> None:
    batch.ready[job.workload_class].remove(job)
    batch.queue(job.workload_class).leave(1, job.tokens, batch.now)
    batch.end(job, state, error)


def _decide(
    batch: Batch, terms: PoolTerms, state: PoolState, job: StoredJob, deadline: int
) -> Decision:
    size = amounts(terms, Tokens(job.input_tokens, job.output_tokens))
    return offer_job(
        terms,
        state,
        Offer(
            workload_class=terms.class_index[job.workload_class],
            costs=tuple([size[limit.unit] for limit in terms.limits]),
            deadline=deadline,
            key=str(job.id),
        ),
    )


def _start(
    batch: Batch, taking_id: UUID, job: StoredJob, decision: Decision, lease: int, of_batch: bool
) -> TakenJob:
    """Lease an admitted job to whoever took it."""
    expires = batch.now + lease
    batch.balances.next_lapse = min(batch.balances.next_lapse, expires)
    row = _call(batch, job, decision, expires, of_batch)
    batch.changes.decided.append(row)
    _count(batch, job, decision, of_batch)
    job.state, job.call_id, job.taking_id = "running", row.id, taking_id
    job.attempts += 1
    job.started_at, job.not_before = batch.now, None
    job.note(batch.now, "collected" if of_batch else "started", f"call {row.id}")
    batch.change(job)
    return _taken_job(batch, job, expires)


def _count(batch: Batch, job: StoredJob, decision: Decision, of_batch: bool) -> None:
    """What the batch endpoint admits takes nothing of the pool's own limits."""
    leading, charged = batch.terms.leading, 0
    if decision.charges and leading is not None and not of_batch:
        charged = decision.charges[leading].amount
    if of_batch:
        decision.drawn = None
    batch.balances.minute.count_taken(
        job.workload_class, decision, job.tokens, charged, again=job.call_id is not None
    )


def _taken_job(batch: Batch, job: StoredJob, lease_expires: int) -> TakenJob:
    assert job.call_id is not None, "given to it as it starts"
    return TakenJob(
        id=job.id,
        call_id=job.call_id,
        pool_id=batch.pool_id,
        pool=batch.terms.slug,
        workload_class=job.workload_class,
        attempt=job.attempts,
        deadline=moment(job.deadline),
        lease_expires=moment(lease_expires),
    )


def _call(
    batch: Batch, job: StoredJob, decision: Decision, lease_expires: int, of_batch: bool
) -> DecidedCall:
    return DecidedCall(
        id=new_id(batch.pool_id, batch.now),
        workload_class=job.workload_class,
        key_prefix=job.key_prefix,
        input_tokens=job.input_tokens,
        output_tokens=job.output_tokens,
        source=job.source,
        tags=job.tags,
        deadline=job.deadline,
        position=batch.next_position(),
        state="open",
        reason=decision.would_be or "",
        limit=decision.limit or "",
        arithmetic=json_text(decision.standings),
        charges=json_text(decision.charges),
        lease_expires=lease_expires,
        job_id=job.id,
        of_batch=of_batch,
    )
