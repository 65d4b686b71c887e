"""The way in: all pools, and which of them needs a look."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from budget import services
from budget.dashboard.access import SEE_CALLS, SEE_USAGE, needs
from budget.dashboard.addresses import sheds_address
from budget.dashboard.finding import percent
from budget.dashboard.levels import Level, levels
from budget.dashboard.lineup import UNTAGGED
from budget.dashboard.pool import POOLS
from budget.dashboard.reasons import because
from budget.dashboard.rows import states_of
from budget.models import Pool
from budget.services import BudgetError, UsageHistory

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
QUIET = "Nobody called in the last hour."


class Queue(NamedTuple):
    """How a class's queue is."""

    slug: str
    states: list[str]
    depth: int


class PoolNow(NamedTuple):
    """How a pool is doing; only the pool if its ledger doesn't answer."""

    pool: Pool
    states: list[str]
    level: Level | None
    """The limit of which least is left."""
    shed: int
    told: str
    """What came of the last hour's calls, in words."""
    queues: list[Queue]
    sheds: str
    """Address of the last hour's sheds; empty for those who may not see them."""
    answers: bool = True


@needs(SEE_USAGE)
def overview(request: HttpRequest) -> HttpResponse:
    """Every pool with its state, how much of it is taken, the last hour's sheds and its queues."""
    linked = request.user.has_perm(SEE_CALLS)
    pools = [_now(pool, linked) for pool in POOLS.all()]
    context = {"title": "Pools", "pools": pools}
    return render(request, "budget/dashboard/overview.html", context)


def _now(pool: Pool, linked: bool) -> PoolNow:
    try:
        hour = _last_hour(pool)
    except BudgetError:
        return PoolNow(pool, [], None, 0, "", [], "", answers=False)
    view = hour.now
    return PoolNow(
        pool,
        [*(["paused"] if view["paused"] else []), view["mode"]],
        max(levels(pool, view), key=lambda level: level.used_percent, default=None),
        sum(sum(past.shed_total().values()) for past in hour.classes.values()),
        _told(hour),
        _queues(pool, view),
        sheds_address(pool, "range=1h") if linked else "",
    )


def _last_hour(pool: Pool) -> UsageHistory:
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    return services.usage_history(pool.slug, now - HOUR, now + MINUTE, HOUR + MINUTE)


def _told(hour: UsageHistory) -> str:
    offered = sum(past.total("offered") for past in hour.classes.values())
    if not offered:
        return QUIET
    counts = [
        (count, slug or UNTAGGED, reason)
        for slug, past in hour.classes.items()
        for reason, count in past.shed_total().items()
    ]
    shed = sum(count for count, _, _ in counts)
    if not shed:
        return f"None of {offered:,} calls was shed in the last hour."
    most, name, reason = max(counts)
    rate = percent(100 * shed / offered)
    which = "all" if most == shed else f"{most:,}"
    return (
        f"{shed:,} of {offered:,} calls were shed in the last hour ({rate}), "
        f"{which} of {name} {because(reason)}."
    )


def _queues(pool: Pool, view: Mapping[str, Any]) -> list[Queue]:
    """Of the classes with a reservation, strictest first, and of others with jobs that wait."""
    reserved = {row.workload_class.slug: row.workload_class for row in pool.reservations.all()}
    queued = {slug for slug, row in reserved.items() if row.tier != "interactive"}
    return [
        Queue(slug, states_of(now, slug in queued), now["depth"])
        for slug, now in view["classes"].items()
        if slug in reserved or now["depth"]
    ]
