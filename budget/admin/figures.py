"""Live and recent figures that pool and class pages show beside what can be edited."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import F, Max, Min, Q, Sum
from django.db.models.functions import NullIf

from budget import services
from budget.ledger.errors import BudgetError
from budget.models import Pool, UsageMinute, WorkloadClass
from budget.policy.stored import stored_terms
from budget.rule.idle import largest_calls, reach
from budget.rule.terms import LimitTerms, PoolTerms

DAY = timedelta(days=1)
WEEK = timedelta(days=7)
MINUTE = timedelta(minutes=1)


class ClassStanding(NamedTuple):
    """One class on one limit, in the limit's unit; percentages 0 to 100."""

    slug: str
    share_percent: float
    floor: float
    """What its floor holds when full."""
    unspent: float | None
    effective: float | None
    reach_percent: float
    largest_call: float


class LimitStanding(NamedTuple):
    """One limit with what is left of it now; None when the ledger doesn't answer."""

    terms: LimitTerms
    available: float | None
    classes: list[ClassStanding]

    @property
    def level(self) -> float | None:
        """What is left, never below nothing, for a meter."""
        return None if self.available is None else max(0.0, self.available)

    @property
    def scarce(self) -> float:
        """Below this a meter warns."""
        return self.terms.capacity / 5


def standings(pool: Pool) -> list[LimitStanding]:
    """Every limit of a pool with every class's part in it, the leading limit first."""
    terms = stored_terms(pool)
    live = _live(pool.slug)
    order = sorted(range(len(terms.limits)), key=lambda d: d != terms.leading)
    return [_limit_standing(terms, d, live.get(terms.limits[d].name, {})) for d in order]


def _limit_standing(terms: PoolTerms, d: int, live: dict[str, Any]) -> LimitStanding:
    classes = [_class_standing(terms, c, d, live) for c in range(len(terms.classes))]
    return LimitStanding(terms.limits[d], live.get("available"), classes)


def _class_standing(terms: PoolTerms, c: int, d: int, live: dict[str, Any]) -> ClassStanding:
    member, limit = terms.classes[c], terms.limits[d]
    share = 0.0 if limit.name in member.except_limits else member.share
    floors = live.get("floors", {}).get(member.slug, {})
    return ClassStanding(
        member.slug,
        share * 100,
        share * limit.capacity,
        floors.get("unspent"),
        floors.get("effective"),
        round(reach(terms, c, d) * 100, 1),
        max(0.0, largest_calls(terms)[c][d]),
    )


def _live(slug: str) -> dict[str, Any]:
    """The ledger's view of a pool by limit name; nothing if it doesn't answer."""
    try:
        view = services.pool_view(slug)
    except BudgetError:
        return {}
    return {f"{limit['unit']}/{limit['algorithm']}": limit for limit in view["limits"]}


class PoolStanding(NamedTuple):
    """One class on one limit of one pool."""

    pool: Pool
    limit: LimitStanding
    own: ClassStanding


def standings_of(slug: str) -> list[PoolStanding]:
    """Where a class stands on every limit of every pool."""
    return [
        PoolStanding(pool, limit, own)
        for pool in Pool.objects.select_related("untagged_class")
        for limit in standings(pool)
        for own in limit.classes
        if own.slug == slug
    ]


class Span(NamedTuple):
    """What a class did on a pool in one stretch of time."""

    offered: int
    admitted: int
    utilisation_percent: float | None
    shed_percent: float | None


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


def _usage_of(pool: Pool, workload_class: str | None, now: datetime) -> list[Usage]:
    closed = UsageMinute.objects.filter(pool_id=pool.pk)
    ends = closed.aggregate(first=Min("minute"), last=Max("minute"))
    opened = _open_minute(pool.slug, ends["last"], now)
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
        columns[f"{name}_taken"] = Sum(taken, filter=within, default=0.0)
    return closed.filter(minute__gte=now - WEEK).values("workload_class").annotate(**columns)


def _open_minute(slug: str, last_closed: datetime | None, now: datetime) -> list[dict[str, Any]]:
    """The minute that isn't stored yet, by class; nothing if the ledger doesn't answer."""
    start = max(last_closed + MINUTE, now - WEEK) if last_closed else now - WEEK
    try:
        return services.usage(slug, start, now + MINUTE)
    except BudgetError:
        return []


def _minutes(first: datetime, now: datetime, stretch: timedelta) -> float:
    return max(MINUTE, min(stretch, now - first)) / MINUTE


def _span(name: str, sums: dict[str, Any], late: dict[str, Any], minutes: float) -> Span:
    offered = sums.get(f"{name}_offered", 0) + late.get("offered", 0)
    admitted = sums.get(f"{name}_admitted", 0) + late.get("admitted", 0)
    taken = sums.get(f"{name}_taken", 0.0) + (late.get("utilisation_percent") or 0.0)
    return Span(
        offered,
        admitted,
        max(0.0, taken / minutes),
        100 * (offered - admitted) / offered if offered else None,
    )
