"""What a switch is about to touch: who called of late, and what waits."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from typing import Any, NamedTuple

from django.db import OperationalError, transaction
from django.utils import timezone

from budget import services
from budget.jobs import words
from budget.models import Pool, WorkloadClass
from budget.services import BudgetError, QueueView

RECENT = timedelta(minutes=10)


class Stake(NamedTuple):
    """One class on one pool: its calls of late, and its queue now."""

    pool: Pool
    slug: str
    share_percent: float
    offered: int
    admitted: int
    shed: int
    queue: QueueView | None
    """None for a class without a queue."""

    @property
    def oldest_wait(self) -> str:
        """In words."""
        return words.oldest_wait(self.queue.oldest_wait_seconds) if self.queue else ""


def stakes(pools: Iterable[Pool], only: WorkloadClass | None = None) -> list[Stake]:
    """Every class on these pools, or only one, by pool and strictest first.

    Pools whose ledger doesn't answer are left out; and all are that come once the database takes
    too long, for nobody is to wait for figures who wants to pause.
    """
    found: list[Stake] = []
    with suppress(OperationalError):
        for pool in pools:
            # A statement that is cancelled spoils nothing but its own savepoint.
            with transaction.atomic():
                found += [stake for stake in _on(pool) if only is None or stake.slug == only.slug]
    return found


def _on(pool: Pool) -> list[Stake]:
    now = timezone.now()
    try:
        minutes = services.usage(pool.slug, now - RECENT, now)
        queues = services.queues(pool.slug)
    except BudgetError:
        return []
    shares = dict(pool.reservations.values_list("workload_class__slug", "share_percent"))
    return [
        _stake(
            pool,
            slug,
            float(shares.get(slug, 0)),
            [minute for minute in minutes if minute["workload_class"] == slug],
            queues.get(slug),
        )
        for slug in WorkloadClass.objects.values_list("slug", flat=True)
    ]


def _stake(
    pool: Pool, slug: str, share: float, minutes: list[dict[str, Any]], queue: QueueView | None
) -> Stake:
    return Stake(
        pool,
        slug,
        share,
        sum(minute["offered"] for minute in minutes),
        sum(minute["admitted"] for minute in minutes),
        sum(sum(minute["shed"].values()) for minute in minutes),
        queue,
    )
