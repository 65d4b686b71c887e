"""Which pools have jobs to take, and when, read without any lock."""

from collections.abc import Sequence

from budget.ledger.errors import UnknownPool
from budget.ledger.view import look
from budget.models import Pool
from budget.rule.dequeue import due
from budget.rule.terms import Tier


def due_pools(tiers: Sequence[Tier]) -> dict[int, int]:
    """By pool id: the moment at which a job of these tiers may be taken; see `services.due`."""
    moments = {}
    for pool_id in Pool.objects.values_list("pk", flat=True):
        try:
            view = look(pool_id)
        except UnknownPool:
            continue
        queues, now = view.balances.queues, view.balances.pool.at
        if queues is None or (view.lapsed and any(queue.running for queue in queues.values())):
            moments[pool_id] = now
        elif (moment := due(view.terms, queues, tiers, now)) is not None:
            moments[pool_id] = moment
    return moments
