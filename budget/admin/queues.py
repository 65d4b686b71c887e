"""Queues as they stand now, beside what can be edited."""

from collections.abc import Iterable
from typing import NamedTuple

from budget import services
from budget.jobs import words
from budget.ledger.errors import BudgetError
from budget.models import Pool, WorkloadClass
from budget.services import QueueView


class QueueStanding(NamedTuple):
    """One class's queue on one pool."""

    pool: Pool
    workload_class: WorkloadClass
    view: QueueView

    @property
    def order(self) -> str:
        """Who is next, in words."""
        return words.ORDERS[self.view.order]

    @property
    def oldest_wait(self) -> str:
        """In words."""
        return words.oldest_wait(self.view.oldest_wait_seconds)

    @property
    def waits_for(self) -> str:
        """Why nothing is taken right now; empty when nothing is in the way."""
        return words.waits_for(self.view)

    @property
    def expected_wait(self) -> str:
        """In words."""
        return words.expected_wait(self.view.expected_wait_seconds)

    @property
    def bounds(self) -> str:
        """How much may wait, in words."""
        return words.bounds(self.workload_class.queue_limit, self.workload_class.queue_tokens)


def queues_on(pool: Pool) -> list[QueueStanding]:
    """The queues of all classes on a pool, strictest first; none if the ledger doesn't answer."""
    classes = {row.slug: row for row in WorkloadClass.objects.all()}
    return [
        QueueStanding(pool, classes[slug], view)
        for slug, view in _views(pool).items()
        if slug in classes
    ]


def queues_of(workload_class: WorkloadClass, pools: Iterable[Pool]) -> list[QueueStanding]:
    """The queue of a class on each pool; none for an interactive class."""
    return [
        QueueStanding(pool, workload_class, view)
        for pool in pools
        if (view := _views(pool).get(workload_class.slug)) is not None
    ]


def _views(pool: Pool) -> dict[str, QueueView]:
    try:
        return services.queues(pool.slug)
    except BudgetError:
        return {}
