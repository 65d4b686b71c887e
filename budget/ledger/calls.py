"""Stored calls, explained."""

from typing import Any
from uuid import UUID

from budget.ledger.admitting import charged
from budget.ledger.errors import UnknownCall
from budget.ledger.rounding import rounded
from budget.models import Call, Pool, WorkloadClass


def explanation(call_id: UUID, key_prefix: str) -> dict[str, Any]:
    """One call in full; see `services.explain`. An empty prefix may see every call.

    Raises UnknownCall, also for another key's call and for one whose pool is gone.
    """
    call = Call.objects.filter(pk=call_id).first()
    pool = None if call is None else Pool.objects.filter(pk=call.pool_id).first()
    if call is None or pool is None or key_prefix not in ("", call.key_prefix):
        raise UnknownCall(f"There is no call {call_id}.")
    admitted = call.state != Call.State.SHED
    tier = WorkloadClass.objects.filter(slug=call.workload_class).values_list("tier", flat=True)
    return {
        "id": call.id,
        "decision": "admitted" if admitted else "shed",
        "pool": pool.slug,
        "workload_class": call.workload_class or None,
        "tier": tier.first(),
        "source": call.source,
        "tags": call.tags,
        "input_tokens": call.input_tokens,
        "output_tokens": call.output_tokens,
        "offered_at": call.offered_at,
        "deadline": call.deadline,
        "lease_expires": call.lease_expires,
        "charged": charged(call.charged),
        "policy_version": call.policy_version,
        "would_be": call.reason or None if admitted else None,
        "reason": None if admitted else call.reason,
        "limit": call.limit or None,
        "retryable": call.retry_after_ms is not None,
        "retry_after_ms": call.retry_after_ms,
        "detail": call.detail,
        "limits": rounded([numbers._asdict() for numbers in call.standings]),
        "state": call.state,
        "usage": _usage(call),
    }


def _usage(call: Call) -> dict[str, Any] | None:
    if call.settled_at is None:
        return None
    return {
        "outcome": call.outcome,
        "input_tokens": call.used_input_tokens,
        "output_tokens": call.used_output_tokens,
        "cached_input_tokens": call.used_cached_input_tokens,
        "refunded": call.refunded,
        "overrun": call.overrun,
        "settled_at": call.settled_at,
    }
