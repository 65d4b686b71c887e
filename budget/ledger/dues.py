"""Which pools have jobs to take, and when, read without any lock."""

from collections.abc import Sequence

from budget.ledger.errors import UnknownPool
from budget.ledger.view import look
from budget.models import Pool
from budget.rule.dequeue import due
from budget.rule.terms import SECOND, Tier


def due_pools(tiers: Sequence[Tier]) -> dict[int, float]:
    """By pool id: in how many seconds a job of these tiers may be taken; see `services.due`."""
    waits = {}
    for pool_id in Pool.objects.values_list("pk", flat=True):
        try:
            view = look(pool_id)
        except UnknownPool:
            continue
        queues, now = view.balances.queues, view.balances.pool.at
        if (
            queues is None
            or view.balances.recount
            or (view.lapsed and any(queue.running for queue in queues.values()))
        ):
            waits[pool_id] = 0.0
        elif (moment := due(view.terms, queues, tiers, now)) is not None:
            waits[pool_id] = (moment - now) / SECOND
    return waits
