"""A pool with all that is counted on it."""

from typing import Any, NamedTuple

from budget.ledger.job_operations import QueueView
from budget.ledger.tally import ClassTally
from budget.ledger.totals import totals
from budget.ledger.view import look, picture, queue_views
from budget.services.asking import existing_pool


class PoolSnapshot(NamedTuple):
    """What `pool_view`, `queues` and `usage_totals` say, all of one moment."""

    view: dict[str, Any]
    queues: dict[str, QueueView]
    totals: dict[str, ClassTally]


def snapshot(pool: str) -> PoolSnapshot:
    """The pool at the moment of looking, looked at once. Raises UnknownPool."""
    pool_id = existing_pool(pool)
    view = look(pool_id)
    return PoolSnapshot(picture(view), queue_views(view), totals(pool_id, view))
