"""Refuses a job its place in a queue within a batch: why, until when, in which words."""

from zlib import crc32

from budget.ledger.batch import Batch, amounts
from budget.ledger.clock import MILLISECOND, moment
from budget.ledger.job_operations import Enqueue
from budget.ledger.operations import Admission
from budget.ledger.rows import DecidedCall, json_text
from budget.ledger.wording import refused_place_in_words
from budget.providers import Tokens
from budget.rule.admission import PAUSED_RETRY
from budget.rule.decision import Decision, Reason, Standing
from budget.rule.dequeue import Queue, service_margin
from budget.rule.idle import largest_calls
from budget.rule.outlook import SLOWEST_PACE
from budget.rule.terms import SECOND, ClassTerms, PoolTerms

UNKNOWN_RETRY = 5 * SECOND
"""When to ask again for a place in a full queue from which nothing is taken."""
LONGEST_RETRY = 600 * SECOND
"""When to ask again at the latest: a rate may rise."""


def refusal(
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
    wait = _until_room(batch, member, queue, over)
    return _shed(c, "queue_full", _spread(operation, min(max(SECOND, wait), LONGEST_RETRY)))


def refuse(
    batch: Batch,
    operation: Enqueue,
    member: ClassTerms,
    queue: Queue,
    deadline: int,
    decision: Decision,
) -> Admission:
    """Record the refusal as a call that was shed, where people look for those."""
    request = operation.request
    tokens = request.input_tokens + request.output_tokens
    row = DecidedCall(
        id=operation.id,
        workload_class=member.slug,
        key_prefix=operation.caller.key_prefix,
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
        detail=refused_place_in_words(batch.terms, decision, queue, tokens),
        arithmetic=json_text(_room(member, queue, tokens)),
        job_id=operation.id,
    )
    batch.changes.decided.append(row)
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


def _room(member: ClassTerms, queue: Queue, tokens: int) -> list[Standing]:
    """The bounds of the queue, as limits of which the jobs that wait keep their part."""
    bounds = (
        ("jobs/queue", 1, member.queue_limit, queue.depth),
        ("tokens/queue", tokens, member.queue_tokens, queue.tokens),
    )
    return [
        Standing(
            limit=name,
            cost=cost,
            available=most,
            own_floor=0,
            protected={member.slug: waiting},
            headroom=0,
            free=most - waiting,
            interactive_floors_spent=0,
            ceiling_left=None,
        )
        for name, cost, most, waiting in bounds
        if most is not None
    ]


def _jobs_over(member: ClassTerms, queue: Queue, tokens: int) -> float:
    """How many jobs must leave the queue before one of so many tokens has room."""
    over = -1.0
    if member.queue_limit is not None:
        over = queue.depth + 1 - member.queue_limit
    if member.queue_tokens is not None and queue.tokens:
        excess = queue.tokens + tokens - member.queue_tokens
        over = max(over, excess * queue.depth / queue.tokens)
    return over


def _until_room(batch: Batch, member: ClassTerms, queue: Queue, over: float) -> int:
    """How long until so many jobs have left, as far as anybody can say."""
    if batch.terms.paused or member.paused:
        return PAUSED_RETRY
    pace = queue.pace.now(queue.clock(batch.now))
    wait = int(over / pace * SECOND) if pace > SLOWEST_PACE else UNKNOWN_RETRY
    return wait + int(queue.resting(batch.now) * SECOND)


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
