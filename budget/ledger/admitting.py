"""Decides one call within a batch, or finds its earlier decision."""

from collections.abc import Iterable
from uuid import UUID

from budget.ledger.asked import class_of, deadline_of
from budget.ledger.batch import IDEMPOTENCY_SPAN, Batch, Key, amounts
from budget.ledger.clock import MILLISECOND, MINUTE, moment
from budget.ledger.errors import KeyReused
from budget.ledger.ids import made_at, new_id
from budget.ledger.operations import Admission, AdmissionRequest, Admit
from budget.ledger.rows import DecidedCall, RetriedCall, StoredCall, json_text
from budget.ledger.wording import refusal_in_words
from budget.providers import Tokens
from budget.rule.admission import offer
from budget.rule.decision import Charge, Decision
from budget.rule.pool import Offer
from budget.rule.terms import PoolTerms


def admit(batch: Batch, operation: Admit, attempted: int | None) -> Admission:
    """Decide on a call; under a known idempotency key, replay it or decide it anew.

    `attempted` is the sequence number of an earlier transaction that may have decided
    this very operation without our hearing of it. Another writer may have used that number
    instead, so only an id that this operation made up proves that it did.
    """
    key = _key(operation)
    if attempted is not None and (call := batch.calls.get(operation.id)):
        return admission_of(batch.terms, call)
    if key is None:
        return _decide(batch, operation, operation.id, None)
    if key in batch.decided_by_key:
        return _repeat_within_batch(batch, operation, key)
    call = batch.keyed.get(key)
    if call is not None and batch.now - made_at(call.id) >= IDEMPOTENCY_SPAN:
        batch.changes.forgotten.append(call.id)
        call = None
    if call is None:
        return _decide(batch, operation, operation.id, None)
    _check_fingerprint(operation, call.fingerprint)
    if operation.moved in batch.calls and call.seq == attempted:
        return admission_of(batch.terms, call)
    if call.state != "shed":
        return _replay(batch, call)
    return _decide_anew(batch, operation, call)


def admission_of(terms: PoolTerms, call: StoredCall, replayed: bool = False) -> Admission:
    """The stored decision on a call."""
    admitted = call.state != "shed"
    c = terms.class_index.get(call.workload_class)
    return Admission(
        id=call.id,
        admitted=admitted,
        pool=terms.slug,
        workload_class=call.workload_class or None,
        tier=None if c is None else terms.classes[c].tier,
        deadline=moment(call.deadline),
        lease_expires=None if call.lease_expires is None else moment(call.lease_expires),
        charged=charged(call.charges),
        policy_version=call.policy_version,
        would_be=call.reason or None if admitted else None,
        reason=None if admitted else call.reason,
        limit=call.limit or None,
        retryable=call.retry_after_ms is not None,
        retry_after_ms=call.retry_after_ms,
        detail=call.detail,
        replayed=replayed,
    )


def charged(charges: Iterable[Charge]) -> dict[str, int]:
    """What was charged, by unit."""
    return {charge.limit.partition("/")[0]: charge.amount for charge in charges}


def _repeat_within_batch(batch: Batch, operation: Admit, key: Key) -> Admission:
    """The same key again before its first decision is even stored: one decision for both."""
    row, admission = batch.decided_by_key[key]
    _check_fingerprint(operation, row.fingerprint)
    # One answer, too, so that neither caller's giving up cancels the other's call.
    admission.replayed = admission.admitted
    return admission


def _replay(batch: Batch, call: StoredCall) -> Admission:
    """The stored admission; from now on nobody's giving up cancels it."""
    if not call.heard:
        call.heard = True
        batch.changes.heard.append(call.id)
    return admission_of(batch.terms, call, replayed=True)


def _decide_anew(batch: Batch, operation: Admit, call: StoredCall) -> Admission:
    """Decide on a call that was shed, under its first id; the refusal moves to another."""
    admission = _decide(batch, operation, call.id, call.deadline)
    operation.moved = new_id(batch.pool_id, call.offered_at)
    batch.changes.retried.append(RetriedCall(call.id, operation.moved))
    return admission


def _decide(batch: Batch, operation: Admit, call_id: UUID, deadline: int | None) -> Admission:
    """Decide on a call, note the decision, and answer with it."""
    request, terms = operation.request, batch.terms
    c = _class_of(batch, operation)
    if deadline is None:
        deadline = _deadline(batch, request, c)
    size = amounts(terms, Tokens(request.input_tokens, request.output_tokens))
    costs = tuple([size[limit.unit] for limit in terms.limits])
    call = Offer(workload_class=c, costs=costs, deadline=deadline, key=str(call_id))
    decision = offer(terms, batch.balances.pool, call)
    row = _row(batch, operation, call_id, call, decision)
    batch.changes.decided.append(row)
    _count(batch, row, decision)
    admission = _admission(batch, row, decision)
    if (key := _key(operation)) is not None:
        batch.decided_by_key[key] = row, admission
    return admission


def _class_of(batch: Batch, operation: Admit) -> int | None:
    """The position of the call's class; None for an untagged call on a pool that sheds them."""
    slug = operation.request.workload_class or batch.terms.untagged
    return None if slug is None else class_of(batch, slug, operation.caller)


def _deadline(batch: Batch, request: AdmissionRequest, c: int | None) -> int:
    if c is None:
        return batch.now + (request.deadline_ms or 0) * MILLISECOND
    return deadline_of(batch, c, request.deadline_ms)


def _row(
    batch: Batch, operation: Admit, call_id: UUID, call: Offer, decision: Decision
) -> DecidedCall:
    request, terms = operation.request, batch.terms
    c = call.workload_class
    lease_expires = None
    if decision.admitted:
        lease_expires = batch.now + _lease(terms, c)
        batch.balances.next_lapse = min(batch.balances.next_lapse, lease_expires)
    return DecidedCall(
        id=call_id,
        workload_class="" if c is None else terms.classes[c].slug,
        untagged=request.workload_class is None,
        key_prefix=operation.caller.key_prefix,
        idempotency_key=request.idempotency_key,
        fingerprint=operation.fingerprint,
        input_tokens=request.input_tokens,
        output_tokens=request.output_tokens,
        source=request.source,
        tags=request.tags,
        deadline=call.deadline,
        position=batch.next_position(),
        state="open" if decision.admitted else "shed",
        reason=decision.reason or decision.would_be or "",
        limit=decision.limit or "",
        retry_after_ms=decision.retry_after_ms,
        detail=_detail(batch, decision),
        arithmetic=json_text(decision.standings),
        charges=json_text(decision.charges),
        lease_expires=lease_expires,
    )


def _detail(batch: Batch, decision: Decision) -> str:
    if decision.admitted:
        return ""
    return refusal_in_words(batch.terms, decision, batch.balances.spend_cap_reached)


def _lease(terms: PoolTerms, c: int | None) -> int:
    """How long a call may take. An untagged one in observe mode: as long as any class's."""
    if c is not None:
        return terms.classes[c].max_call_time
    return max([member.max_call_time for member in terms.classes], default=MINUTE)


def _count(batch: Batch, row: DecidedCall, decision: Decision) -> None:
    leading = batch.terms.leading
    batch.balances.minute.count_decision(
        row.workload_class,
        decision,
        tokens=row.input_tokens + row.output_tokens,
        charged=decision.charges[leading].amount if decision.charges and leading is not None else 0,
        untagged=row.untagged,
    )


def _admission(batch: Batch, row: DecidedCall, decision: Decision) -> Admission:
    c = decision.workload_class
    return Admission(
        id=row.id,
        admitted=decision.admitted,
        pool=batch.terms.slug,
        workload_class=row.workload_class or None,
        tier=None if c is None else batch.terms.classes[c].tier,
        deadline=moment(row.deadline),
        lease_expires=None if row.lease_expires is None else moment(row.lease_expires),
        charged=charged(decision.charges),
        policy_version=batch.terms.version,
        would_be=decision.would_be,
        reason=decision.reason,
        limit=decision.limit,
        retryable=decision.retryable,
        retry_after_ms=decision.retry_after_ms,
        detail=row.detail,
    )


def _key(operation: Admit) -> Key | None:
    key = operation.request.idempotency_key
    return None if key is None else (operation.caller.key_prefix, key)


def _check_fingerprint(operation: Admit, fingerprint: str) -> None:
    if operation.fingerprint != fingerprint:
        raise KeyReused("This idempotency key came before with another request.")
