"""The way in: all pools, and which of them needs a look."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from budget import services
from budget.dashboard.access import SEE_CALLS, SEE_USAGE, needs
from budget.dashboard.addresses import pool_address, sheds_address
from budget.dashboard.finding import IF_ENFORCED
from budget.dashboard.leaks import leaks_of
from budget.dashboard.levels import Level, levels
from budget.dashboard.lineup import UNTAGGED
from budget.dashboard.policy_rows import POOLS
from budget.dashboard.reasons import because
from budget.dashboard.rows import pool_states, states_of
from budget.dashboard.span import span_of
from budget.dashboard.units import offers_in_words
from budget.dashboard.untagged import UntaggedCallers, untagged_callers, untagged_in
from budget.models import Pool, ProviderLimit
from budget.pages.percents import percent
from budget.pages.provider_limits import disagreements
from budget.services import BudgetError, UsageHistory

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
Counts = Sequence[tuple[int, str]]
"""How many calls, and whose they were and why in words."""
MOST_UNTAGGED = 3
"""Of a pool's call sites; its page has the others."""
DIFFERS = "provider limit differs"
QUIET = "Nobody called in the last hour."
UNKNOWN = "Nothing was recorded in the last hour, so nothing is known of it."


class Told(NamedTuple):
    """Something that the last hour brought, in words, and where to see it."""

    text: str
    address: str = ""
    """Empty where there is nothing to see, and for those who may not see it."""


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
    told: list[Told]
    queues: list[Queue]
    untagged: UntaggedCallers | None = None
    """None without any, and for those who may not see calls."""
    answers: bool = True


@needs(SEE_USAGE)
def overview(request: HttpRequest) -> HttpResponse:
    """Every pool with its state, how much of it is taken, the last hour's sheds and its queues."""
    linked = request.user.has_perm(SEE_CALLS)
    told = _told_by_providers()
    pools = [_now(pool, linked, told[pool.pk]) for pool in POOLS.all()]
    context = {"title": "Pools", "pools": pools, "at": datetime.now(UTC)}
    return render(request, "budget/dashboard/overview.html", context)


def _told_by_providers() -> defaultdict[int, list[ProviderLimit]]:
    """By pool."""
    told: defaultdict[int, list[ProviderLimit]] = defaultdict(list)
    for limit in ProviderLimit.objects.all():
        told[limit.pool_id].append(limit)
    return told


def _now(pool: Pool, linked: bool, told: Sequence[ProviderLimit]) -> PoolNow:
    try:
        hour = _last_hour(pool)
    except BudgetError:
        return PoolNow(pool, [], None, [], [], answers=False)
    view = hour.now
    return PoolNow(
        pool,
        [*pool_states(view), *([DIFFERS] if disagreements(pool, told) else [])],
        max(levels(pool, view), key=lambda level: level.used_percent, default=None),
        [*_told(pool, hour, linked), *_unseen(pool, hour)],
        _queues(pool, view),
        _untagged(pool, hour) if linked else None,
    )


def _last_hour(pool: Pool) -> UsageHistory:
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    return services.usage_history(pool.slug, now - HOUR, now + MINUTE, HOUR + MINUTE)


def _untagged(pool: Pool, hour: UsageHistory) -> UntaggedCallers | None:
    return untagged_callers(pool, span_of({"range": "1h"}), untagged_in(hour), MOST_UNTAGGED)


def _told(pool: Pool, hour: UsageHistory, linked: bool) -> Iterator[Told]:
    if not any(hour.minutes):
        yield Told(UNKNOWN)
        return
    offered = sum(past.total("offered") for past in hour.classes.values())
    if not offered:
        yield Told(QUIET)
        return
    noun = offers_in_words(_queued(pool, hour))
    shed, would = _refused(hour, "shed"), _refused(hour, "would_shed")
    if shed:
        address = sheds_address(pool, "range=1h", decision="shed") if linked else ""
        yield Told(f"{_share(shed, offered, noun, 'were shed in the last hour')}.", address)
    else:
        yield Told(f"None of {offered:,} {noun} was shed in the last hour.")
    if would:
        address = sheds_address(pool, "range=1h", decision="would_be") if linked else ""
        yield Told(f"{_share(would, offered, noun, 'would have been')}, {IF_ENFORCED}.", address)


def _unseen(pool: Pool, hour: UsageHistory) -> Iterator[Told]:
    """What the hour's figures know nothing of: leaks, and calls while the service was away."""
    start, end = hour.start, hour.start + len(hour.minutes) * hour.step
    page = pool_address(pool, "range=1h")
    if (leaks := leaks_of(pool, start, end)).times:
        yield Told(f"Leaks: {leaks.total} in the last hour.", f"{page}#leaks")
    if away := sum(row.admitted + row.shed for row in services.away_calls(pool.slug, start, end)):
        calls = f"{away:,} call{'s' if away > 1 else ''}"
        decided = f"callers decided on {calls} by themselves, while the service was away"
        yield Told(f"In the last hour {decided}.", f"{page}#away")


def _queued(pool: Pool, hour: UsageHistory) -> Iterator[bool]:
    """Of each class that offered something, whether it has a queue on this pool."""
    tiers = {row.workload_class.slug: row.workload_class.tier for row in pool.reservations.all()}
    for slug, past in hour.classes.items():
        if past.total("offered"):
            yield tiers.get(slug, "interactive") != "interactive"


def _share(refused: Counts, offered: int, noun: str, were: str) -> str:
    """`9 of 100 calls were shed (9 %), 5 of nightly because floors are protected`."""
    total = sum(count for count, _ in refused)
    most, which = max(refused)
    part = "all" if most == total else f"{most:,}"
    rate = percent(100 * total / offered)
    return f"{total:,} of {offered:,} {noun} {were} ({rate}), {part} of {which}"


def _refused(hour: UsageHistory, kind: Literal["shed", "would_shed"]) -> Counts:
    columns = [(slug, getattr(past, kind)) for slug, past in hour.classes.items()]
    found = [
        (sum(number or 0 for number in column), f"{slug or UNTAGGED} {because(reason)}")
        for slug, by_reason in columns
        for reason, column in by_reason.items()
    ]
    return [(count, which) for count, which in found if count]


def _queues(pool: Pool, view: Mapping[str, Any]) -> list[Queue]:
    """Of the classes with a reservation, strictest first, and of others with jobs that wait."""
    reserved = {row.workload_class.slug: row.workload_class for row in pool.reservations.all()}
    queued = {slug for slug, row in reserved.items() if row.tier != "interactive"}
    return [
        Queue(slug, states_of(now, slug in queued), now["depth"])
        for slug, now in view["classes"].items()
        if slug in reserved or now["depth"]
    ]
