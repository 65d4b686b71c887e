"""The service's books checked against what its caller saw, and against its limits."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from bench.peaks import Draw, bucket_excess, gauge_excess, window_excess
from budget.ledger.clock import micros
from budget.models import Call, Limit, Pool

TOLERANCE = 0.001
COUNTED = ("offered", "admitted", "estimated_tokens", "used_tokens")


def totals(minutes: list[dict[str, Any]]) -> Counter[str]:
    """`GET /usage` minutes added up; refusals count as `shed <reason>`."""
    total: Counter[str] = Counter()
    for minute in minutes:
        total.update({name: minute[name] for name in COUNTED})
        total.update({f"shed {reason}": count for reason, count in minute["shed"].items()})
    return total


def differences(seen: Counter[str], booked: Counter[str]) -> list[str]:
    """Where the two disagree, in words."""
    return [
        f"{name}: the decisions add up to {seen[name]:,}, the usage says {booked[name]:,}"
        for name in sorted(seen | booked)
        if seen[name] != booked[name]
    ]


def exceeded_limits(pool: str, since: datetime) -> list[str]:
    """The pool's limits that its stored calls since then exceeded, in words."""
    owner = Pool.objects.get(slug=pool)
    calls = Call.objects.filter(pool_id=owner.pk, offered_at__gte=since).exclude(
        state=Call.State.SHED
    )
    stored = list(calls.order_by("seq", "position"))
    found = []
    for limit in owner.limits.all():
        excess = _excess(limit, list(_draws(limit, stored)))
        if excess > TOLERANCE:
            found.append(f"{limit} was exceeded by {excess:,.3f}")
    return found


def _excess(limit: Limit, draws: list[Draw]) -> float:
    terms = limit.terms
    if terms.algorithm == "token_bucket":
        return bucket_excess(draws, terms.capacity, terms.rate)
    if terms.algorithm == "sliding_window":
        return window_excess(draws, terms.amount, terms.period)
    return gauge_excess(draws, terms.amount)


def _draws(limit: Limit, calls: list[Call]) -> Iterator[Draw]:
    for call in calls:
        ends = [end for end in (call.settled_at, call.lapsed_at) if end is not None]
        for charge in call.charged:
            if charge.limit != limit.terms.name:
                continue
            # A gauge gets everything back when the call ends; a refund is none of its own.
            held = limit.algorithm == "gauge"
            refund = 0 if held else call.refunded.get(limit.unit, 0)
            yield Draw(charge.at, charge.amount - refund, micros(min(ends)) if ends else None)
