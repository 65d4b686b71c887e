"""Ends or extends a call's lease within a batch."""

import logging
from collections.abc import Iterable

from msgspec import structs

from budget.ledger.batch import Batch, amounts, units
from budget.ledger.clock import MILLISECOND, moment
from budget.ledger.errors import (
    AlreadySettled,
    CallOfJob,
    CallWasShed,
    Implausible,
    UnknownCall,
)
from budget.ledger.operations import (
    NEVER_LEFT,
    Renew,
    Renewed,
    RenewedMany,
    RenewMany,
    Settle,
    Settled,
)
from budget.ledger.rows import RenewedCall, SettledCall, StoredCall
from budget.providers import Tokens
from budget.rule.pool import Settlement, release
from budget.rule.pool import settle as settle_charges
from budget.rule.terms import PoolTerms

logger = logging.getLogger(__name__)


def settle(batch: Batch, operation: Settle) -> Settled:
    """Replace a call's estimate by what it used, once; the same body again changes nothing."""
    return conclude(batch, _find(batch, operation), operation)


def conclude(batch: Batch, call: StoredCall, operation: Settle) -> Settled:
    """As `settle` does, also a call of a job."""
    if operation.forget_key and call.heard:
        raise AlreadySettled("Another caller heard of the admission.")
    if operation.curbed:
        operation = _curb(batch.terms, call, operation)
    if call.state == "settled":
        return _settled_before(batch, call, operation)
    _check_plausible(batch.terms, call, operation)
    used = _used(batch, operation)
    settlement = Settlement({}, {})
    if drawn := batch.balances.drawn_on(batch.terms, call.of_batch):
        settlement = settle_charges(
            *drawn, call.workload_class, call.charges, used, held=not call.lapsed
        )
    _count(batch, call, operation, settlement)
    row = SettledCall(
        id=call.id,
        outcome=operation.outcome,
        used_input_tokens=operation.input_tokens,
        used_output_tokens=operation.output_tokens,
        used_cached_input_tokens=operation.cached_input_tokens,
        refunded=settlement.refunded,
        overrun=settlement.overrun,
        position=batch.next_position(),
        forget_key=operation.forget_key,
    )
    batch.changes.settled.append(row)
    _remember(call, row)
    if operation.forget_key and call.idempotency_key is not None:
        batch.keyed.pop((call.key_prefix, call.idempotency_key), None)
    return _answer(batch, operation, settlement)


def renew(batch: Batch, operation: Renew) -> Renewed:
    """Move a lease's end; asked again after a lost reply, it moves only once."""
    call = _find(batch, operation)
    if call.state != "open" or call.lease_expires is None:
        raise AlreadySettled("The call's lease is over.")
    if call.lease_expires != operation.wanted:
        call.lease_expires += operation.extend_ms * MILLISECOND
        operation.wanted = call.lease_expires
        batch.changes.renewed.append(RenewedCall(call.id, call.lease_expires))
    return Renewed(id=call.id, lease_expires=moment(call.lease_expires))


def renew_many(batch: Batch, operation: RenewMany) -> RenewedMany:
    """Move the ends of leases that are not over to a moment, unless they end later."""
    leases = 0
    for call_id in operation.calls:
        call = batch.calls.get(call_id)
        if call is None or call.state != "open" or call.lease_expires is None:
            continue
        leases += 1
        if call.lease_expires < operation.until:
            call.lease_expires = operation.until
            batch.changes.renewed.append(RenewedCall(call.id, call.lease_expires))
    return RenewedMany(leases=leases)


def lapse(batch: Batch, calls: Iterable[StoredCall]) -> None:
    """Settle at their estimate the calls whose lease has ended: only gauges are released."""
    for found in calls:
        call = batch.stored(found)
        if drawn := batch.balances.drawn_on(batch.terms, call.of_batch):
            release(*drawn, call.workload_class, call.charges)
        batch.balances.minute.count_lapse(call.workload_class, call.tokens)
        batch.changes.lapsed.append(call.id)
        call.state, call.lapsed = "lease_expired", True


def _find(batch: Batch, operation: Settle | Renew) -> StoredCall:
    call = batch.calls.get(operation.id)
    if call is None or operation.key_prefix not in ("", call.key_prefix):
        raise UnknownCall(f"There is no call {operation.id}.")
    if call.state == "shed":
        raise CallWasShed("The call was shed: it never had a lease.")
    if call.job_id is not None:
        raise CallOfJob(
            f"The call is an attempt at the job {call.job_id}: whoever runs that ends the call."
        )
    return call


def _check_plausible(terms: PoolTerms, call: StoredCall, operation: Settle) -> None:
    if operation.cached_input_tokens > operation.input_tokens:
        raise Implausible("cached_input_tokens", "is more than all input tokens.")
    largest = _most_plausible(terms, call)
    if operation.input_tokens > largest:
        raise Implausible("input_tokens", f"is more than the call could have used: {largest:,}.")
    if operation.input_tokens + operation.output_tokens > largest:
        raise Implausible(
            "output_tokens", f"is more, with the input, than the call could have used: {largest:,}."
        )


def _curb(terms: PoolTerms, call: StoredCall, operation: Settle) -> Settle:
    """The settlement, at no more than the call could have used."""
    largest = _most_plausible(terms, call)
    used = min(operation.input_tokens, largest)
    curbed = structs.replace(
        operation,
        input_tokens=used,
        output_tokens=min(operation.output_tokens, largest - used),
        cached_input_tokens=min(operation.cached_input_tokens, used),
    )
    if structs.astuple(curbed) != structs.astuple(operation):
        logger.warning(
            "Call %s cannot have used %s + %s tokens, %s of them cached: settled at %s + %s.",
            call.id,
            operation.input_tokens,
            operation.output_tokens,
            operation.cached_input_tokens,
            curbed.input_tokens,
            curbed.output_tokens,
        )
    return curbed


def _most_plausible(terms: PoolTerms, call: StoredCall) -> int:
    """The most tokens, input plus output, that a call can be believed to have used."""
    c = terms.class_index.get(call.workload_class)
    return max(2 * call.tokens, 0 if c is None else terms.classes[c].max_call_tokens)


def _used(batch: Batch, operation: Settle) -> dict[str, int] | None:
    if operation.outcome in NEVER_LEFT:
        return None
    return amounts(
        batch.terms,
        Tokens(operation.input_tokens, operation.output_tokens, operation.cached_input_tokens),
    )


def _count(batch: Batch, call: StoredCall, operation: Settle, settlement: Settlement) -> None:
    used = 0
    if operation.outcome not in NEVER_LEFT:
        used = operation.input_tokens + operation.output_tokens
    change, leading = 0, batch.terms.leading
    gauged = leading is None or batch.terms.limits[leading].algorithm == "gauge"
    if leading is not None and not gauged and not call.of_batch:
        unit = batch.terms.limits[leading].unit
        change = settlement.overrun.get(unit, 0) - settlement.refunded.get(unit, 0)
    batch.balances.minute.count_settlement(
        call.workload_class, call.tokens, used, change, call.lapsed
    )


def _remember(call: StoredCall, row: SettledCall) -> None:
    """Let a second settlement in the same batch see the first."""
    call.state, call.outcome = "settled", row.outcome
    call.used_input_tokens = row.used_input_tokens
    call.used_output_tokens = row.used_output_tokens
    call.used_cached_input_tokens = row.used_cached_input_tokens
    call.refunded, call.overrun = row.refunded, row.overrun


def _settled_before(batch: Batch, call: StoredCall, operation: Settle) -> Settled:
    before = (
        call.outcome,
        call.used_input_tokens,
        call.used_output_tokens,
        call.used_cached_input_tokens,
    )
    again = (
        operation.outcome,
        operation.input_tokens,
        operation.output_tokens,
        operation.cached_input_tokens,
    )
    if before != again:
        raise AlreadySettled("The call was settled before, with another outcome or usage.")
    return _answer(batch, operation, call.settlement)


def _answer(batch: Batch, operation: Settle, settlement: Settlement) -> Settled:
    used = _used(batch, operation) or {}
    return Settled(
        id=operation.id,
        outcome=operation.outcome,
        charged={unit: used.get(unit, 0) for unit in sorted(units(batch.terms))},
        refunded=settlement.refunded,
        overrun=settlement.overrun,
    )
