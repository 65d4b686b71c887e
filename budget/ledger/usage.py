"""Usage by minute, the open minute included."""

from datetime import datetime
from typing import Any

from budget.ledger.clock import micros, minute_of, moment
from budget.ledger.tally import ClassTally, allowance
from budget.ledger.view import look
from budget.models import UsageMinute


def minutes(
    pool_id: int, start: datetime, end: datetime, workload_class: str | None
) -> list[dict[str, Any]]:
    """Minutes that overlap `start` to `end`, in order; see `services.usage`."""
    first = moment(minute_of(micros(start)))
    # The open minute is read first: one that closes meanwhile is then seen twice, not never.
    view = look(pool_id)
    terms, balances = view.terms, view.balances
    opened = moment(balances.minute.start)
    found: dict[tuple[datetime, str], dict[str, Any]] = {}
    if first <= opened < end:
        for slug, tally in balances.minute.classes.items():
            found[opened, slug] = _minute(opened, slug, tally, allowance(terms))
    for row in UsageMinute.objects.filter(pool_id=pool_id, minute__gte=first, minute__lt=end):
        found[row.minute, row.workload_class] = _minute(
            row.minute, row.workload_class, row, row.allowance
        )
    return [
        found[key] for key in sorted(found) if workload_class is None or key[1] == workload_class
    ]


def _minute(
    minute: datetime, workload_class: str, tally: ClassTally | UsageMinute, allowed: int
) -> dict[str, Any]:
    shed = sum(tally.shed.values())
    return {
        "minute": minute,
        "workload_class": workload_class,
        "offered": tally.offered,
        "untagged": tally.untagged,
        "admitted": tally.admitted,
        "shed": tally.shed,
        "would_shed": tally.would_shed,
        "expired": tally.expired,
        "estimated_tokens": tally.estimated_tokens,
        "used_tokens": tally.used_tokens,
        "utilisation_percent": max(0.0, 100 * tally.charged / allowed) if allowed else None,
        "shed_rate": shed / tally.offered if tally.offered else None,
    }
