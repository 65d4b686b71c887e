"""A pool with all that is counted on it."""

from typing import Any, NamedTuple

from budget.ledger.job_operations import QueueView
from budget.ledger.tally import ClassTally
from budget.ledger.totals import totals
from budget.ledger.view import look, picture, queue_views
from budget.models import AwayTotal, ProviderLimit
from budget.services.asking import existing_pool
from budget.services.callers import caller_processes


class PoolSnapshot(NamedTuple):
    """What `pool_view`, `queues` and `usage_totals` say, all of one moment, and who calls."""

    view: dict[str, Any]
    queues: dict[str, QueueView]
    totals: dict[str, ClassTally]
    away: list[AwayTotal]
    """What callers decided by themselves, as far as they have reported it."""
    processes: int
    """Processes that call it and were heard of lately."""
    leaked: dict[str, int]
    """By unit: what was used at the provider and never came through us."""
    provider_limits: list[ProviderLimit]
    """As the provider's headers last told them."""


def snapshot(pool: str) -> PoolSnapshot:
    """The pool at the moment of looking, looked at once. Raises UnknownPool."""
    pool_id = existing_pool(pool)
    view = look(pool_id)
    return PoolSnapshot(
        picture(view),
        queue_views(view),
        totals(pool_id, view),
        away=list(AwayTotal.objects.filter(pool_id=pool_id)),
        processes=caller_processes(pool_id),
        leaked=view.balances.leaked,
        provider_limits=list(ProviderLimit.objects.filter(pool_id=pool_id)),
    )
