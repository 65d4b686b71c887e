"""What classes did on pools in the last day and week."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import BigIntegerField, F, Func, Max, Min, Q, Sum
from django.db.models.functions import NullIf

from budget import services
from budget.ledger.errors import BudgetError
from budget.models import Pool, UsageMinute, WorkloadClass
from budget.models.choices import Mode

DAY = timedelta(days=1)
WEEK = timedelta(days=7)
MINUTE = timedelta(minutes=1)


class Span(NamedTuple):
    """What a class did on a pool in one stretch of time."""

    offered: int
    admitted: int
    utilisation_percent: float | None
    shed_percent: float | None
    would_shed: int
    """Calls admitted only because the pool observes."""


class Counts(Func):
    """The sum of a JSON object's values."""

    template = "(SELECT sum(value::bigint) FROM jsonb_each_text(%(expressions)s))"
    output_field = BigIntegerField()


class Usage(NamedTuple):
    """What a class did on a pool lately."""

    pool: str
    workload_class: str
    day: Span
    week: Span


def recent_usage(pools: Iterable[Pool], workload_class: str | None = None) -> list[Usage]:
    """Usage of the last 24 hours and 7 days by pool and class, the open minute included.

    Utilisation is what the class took of the pool's leading limit, in percent of what that
    limit allows in the time since the pool was first used, at most the stretch.
    """
    now = datetime.now(UTC)
    return [usage for pool in pools for usage in _usage_of(pool, workload_class, now)]


def observed(pools: Iterable[Pool], usages: Iterable[Usage]) -> bool:
    """Whether it matters what would have been shed: a pool observes, or did lately."""
    return any(pool.mode == Mode.OBSERVE for pool in pools) or any(
        usage.week.would_shed for usage in usages
    )


def _usage_of(pool: Pool, workload_class: str | None, now: datetime) -> list[Usage]:
    closed = UsageMinute.objects.filter(pool_id=pool.pk)
    ends = closed.aggregate(first=Min("minute"), last=Max("minute"))
    opened = _open_minute(pool, ends["last"], now)
    first = ends["first"] or min([row["minute"] for row in opened], default=now)
    if workload_class is not None:
        closed = closed.filter(workload_class=workload_class)
        opened = [row for row in opened if row["workload_class"] == workload_class]
    sums = {row["workload_class"]: row for row in _sums(closed, now)}
    late = {row["workload_class"]: row for row in opened}
    return [
        Usage(
            pool.slug,
            slug or "untagged",
            *[
                _span(name, sums.get(slug, {}), late.get(slug, {}), _minutes(first, now, stretch))
                for name, stretch in (("day", DAY), ("week", WEEK))
            ],
        )
        for slug in _strictest_first(sums.keys() | late.keys())
    ]


def _strictest_first(slugs: set[str]) -> list[str]:
    ordered = list(WorkloadClass.objects.filter(slug__in=slugs).values_list("slug", flat=True))
    return [*ordered, *sorted(slugs - set(ordered))]


def _sums(closed: Any, now: datetime) -> Any:
    """One row per class with the sums of both stretches."""
    taken = F("charged") * 100.0 / NullIf(F("allowance"), 0)
    columns = {}
    for name, stretch in (("day", DAY), ("week", WEEK)):
        within = Q(minute__gte=now - stretch)
        columns[f"{name}_offered"] = Sum("offered", filter=within, default=0)
        columns[f"{name}_admitted"] = Sum("admitted", filter=within, default=0)
        columns[f"{name}_shed"] = Sum(Counts("shed"), filter=within, default=0)
        columns[f"{name}_would_shed"] = Sum(Counts("would_shed"), filter=within, default=0)
        columns[f"{name}_taken"] = Sum(taken, filter=within, default=0.0)
    return closed.filter(minute__gte=now - WEEK).values("workload_class").annotate(**columns)


def _open_minute(pool: Pool, last_closed: datetime | None, now: datetime) -> list[dict[str, Any]]:
    """The minute that isn't stored yet, by class; nothing if the ledger doesn't answer."""
    start = max(last_closed + MINUTE, now - WEEK) if last_closed else now - WEEK
    try:
        return services.usage(pool.slug, start, now + MINUTE)
    except BudgetError:
        return []


def _minutes(first: datetime, now: datetime, stretch: timedelta) -> float:
    return max(MINUTE, min(stretch, now - first)) / MINUTE


def _span(name: str, sums: dict[str, Any], late: dict[str, Any], minutes: float) -> Span:
    offered = sums.get(f"{name}_offered", 0) + late.get("offered", 0)
    admitted = sums.get(f"{name}_admitted", 0) + late.get("admitted", 0)
    shed = sums.get(f"{name}_shed", 0) + sum(late.get("shed", {}).values())
    taken = sums.get(f"{name}_taken", 0.0) + (late.get("utilisation_percent") or 0.0)
    return Span(
        offered,
        admitted,
        max(0.0, taken / minutes),
        100 * shed / offered if offered else None,
        sums.get(f"{name}_would_shed", 0) + sum(late.get("would_shed", {}).values()),
    )
