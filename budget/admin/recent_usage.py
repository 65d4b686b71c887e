"""What classes did on pools in the last day and week."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db import OperationalError

from budget import services
from budget.ledger.errors import BudgetError
from budget.models import Pool, WorkloadClass
from budget.models.choices import Mode
from budget.pages.bounded import bounded
from budget.pages.percents import percent
from budget.services import UsageHistory

HOUR = timedelta(hours=1)
HOURS = {"day": 24, "week": 168}


class Span(NamedTuple):
    """What a class did on a pool in one stretch of time."""

    offered: int
    admitted: int
    utilisation_percent: float | None
    shed_percent: float | None
    would_shed: int
    """Calls admitted only because the pool observes."""

    @property
    def utilisation(self) -> str:
        """In words."""
        return _written(self.utilisation_percent)

    @property
    def shed_rate(self) -> str:
        """In words."""
        return _written(self.shed_percent)


class Usage(NamedTuple):
    """What a class did on a pool lately."""

    pool: str
    workload_class: str
    day: Span
    week: Span


def recent_usage(pools: Iterable[Pool], workload_class: str | None = None) -> list[Usage] | None:
    """Usage of the last 24 and 168 hours by pool and class, and of the one that is open.

    Utilisation is what the class took of the pool's leading limit, in percent of what that
    limit allowed in the minutes that are known. None when nobody can say: the ledger doesn't
    answer, or somebody holds its tables.
    """
    ordered = list(WorkloadClass.objects.values_list("slug", flat=True))
    try:
        with bounded():
            return [usage for pool in pools for usage in _usage_of(pool, workload_class, ordered)]
    except (BudgetError, OperationalError):
        return None


def observed(pools: Iterable[Pool], usages: Iterable[Usage] | None) -> bool:
    """Whether it matters what would have been shed: a pool observes, or did lately."""
    return any(pool.mode == Mode.OBSERVE for pool in pools) or any(
        usage.week.would_shed for usage in usages or ()
    )


def _usage_of(pool: Pool, workload_class: str | None, ordered: list[str]) -> list[Usage]:
    end = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + HOUR
    found = services.usage_history(pool.slug, end - (HOURS["week"] + 1) * HOUR, end, HOUR)
    gone = sorted(found.classes.keys() - set(ordered))
    slugs = [slug for slug in ordered if slug in found.classes] + gone
    return [
        Usage(pool.slug, slug or "untagged calls", *(_span(found, slug, n) for n in HOURS.values()))
        for slug in slugs
        if workload_class in (None, slug)
    ]


def _span(found: UsageHistory, slug: str, hours: int) -> Span:
    member = found.classes[slug]
    late = slice(-hours - 1, None)
    offered, admitted, charged = (
        _sum(member.columns[name][late]) for name in ("offered", "admitted", "charged")
    )
    shed, would_shed = (
        sum(_sum(column[late]) for column in columns.values())
        for columns in (member.shed, member.would_shed)
    )
    allowed = _sum(found.allowance[late])
    return Span(
        offered,
        admitted,
        max(0.0, 100 * charged / allowed) if allowed else None,
        100 * shed / offered if offered else None,
        would_shed,
    )


def _written(share: float | None) -> str:
    return "–" if share is None else percent(share)


def _sum(column: Iterable[Any]) -> int:
    return sum(number or 0 for number in column)
