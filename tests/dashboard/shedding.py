"""Sheds as the ledger stores them, at whatever time a test needs them."""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from budget import services
from budget.ledger.clock import micros
from budget.ledger.ids import new_id
from budget.models import Call, Limit, Pool, Reservation, WorkloadClass
from budget.services import Admission, AdmissionRequest

LONG = "x" * 200
SCRIPT = "<script>alert(1)</script>"

# Ids in the order of time, a shed every other call, as far apart as the span allows.
MANY = """
INSERT INTO budget_call (
    id, pool_id, workload_class, untagged, key_prefix, fingerprint, input_tokens, output_tokens,
    source, tags, offered_at, deadline, seq, position, policy_version, state, reason, "limit",
    detail, arithmetic, charges, outcome, refunded, overrun, of_batch
)
SELECT gen_random_uuid(), %(pool)s, 'nightly', false, '', '', 900, 100, 'many.py:' || n %% 7,
    jsonb_build_object('run', (n %% 5)::text), at, at + interval '1 hour', n, 0, 1,
    CASE WHEN n %% 2 = 0 THEN 'shed' ELSE 'settled' END,
    CASE WHEN n %% 2 = 0 THEN 'headroom' ELSE '' END, '', '', '[]', '[]', '', '{}', '{}', false
FROM generate_series(1, 2 * %(count)s) AS n,
LATERAL (SELECT %(end)s - n * %(span)s / (2.0 * %(count)s) AS at) AS t
"""


def store(pool: Pool, at: datetime, **fields: Any) -> Call:
    """A shed of the class nightly for headroom, unless said otherwise."""
    values: dict[str, Any] = {
        "id": new_id(pool.pk, micros(at)),
        "workload_class": "nightly",
        "input_tokens": 900,
        "output_tokens": 100,
        "deadline": at + timedelta(hours=8),
        "seq": 1,
        "position": 0,
        "policy_version": 1,
        "state": Call.State.SHED,
        "reason": "headroom",
        "limit": "total_tokens/token_bucket",
        "retry_after_ms": 2400,
    }
    return Call.objects.create(pool_id=pool.pk, offered_at=at, **values | fields)


def store_many(pool: Pool, end: datetime, span: timedelta, count: int) -> None:
    """So many sheds of nightly, spread over the time before `end`, and as many served calls."""
    with connection.cursor() as cursor:
        cursor.execute(MANY, {"pool": pool.pk, "end": end, "span": span, "count": count})
        cursor.execute("ANALYZE budget_call")


def offer(
    workload_class: str | None, tokens: int, pool: str = "claims", **fields: Any
) -> Admission:
    """Ask the ledger for a call of that many tokens in all."""
    wanted: dict[str, Any] = {"input_tokens": tokens, "output_tokens": 0, **fields}
    return services.admit(AdmissionRequest(pool=pool, workload_class=workload_class, **wanted))


def shed(workload_class: str, tokens: int, pool: str = "claims", **fields: Any) -> Call:
    """Offer calls until one is shed, or would be."""
    while True:
        decided = offer(workload_class, tokens, pool, **fields)
        if not decided.admitted or decided.would_be:
            return Call.objects.get(pk=decided.id)


def gauge_pool(*reservations: dict[str, Any], amount: int = 1000, **fields: Any) -> Pool:
    """A pool whose one limit, in tokens, doesn't refill with time: examples are exact."""
    pool = Pool.objects.create(slug="still", provider="openai", **fields)
    Limit.objects.create(pool=pool, unit="total_tokens", algorithm="gauge", amount=amount)
    tiers = {
        "adjuster": ("interactive", 5),
        "rescore": ("near_line", 300),
        "nightly": ("bulk", 900),
    }
    for terms in reservations:
        tier, deadline = tiers[terms["workload_class"]]
        member, _ = WorkloadClass.objects.get_or_create(
            slug=terms["workload_class"],
            defaults={"tier": tier, "deadline_seconds": deadline, "max_call_tokens": 1},
        )
        Reservation.objects.create(pool=pool, **{**terms, "workload_class": member})
    return pool
