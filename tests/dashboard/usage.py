"""Usage that never was: a storm of an hour, a month of many classes."""

import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from budget.models import Pool, UsageHour, UsageMinute, WorkloadClass
from tests.ledger.pools import make_pool
from tests.policies import constraints_left_to_the_database

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
ALLOWANCE = 400_000
STORM = range(25, 36)
GAP = range(44, 49)


def record(pool: Pool, minute: datetime, slug: str = "adjuster", **fields: Any) -> UsageMinute:
    """One class's closed minute; fields left out are 0."""
    values = {"allowance": ALLOWANCE, **fields}
    return UsageMinute.objects.create(pool_id=pool.pk, workload_class=slug, minute=minute, **values)


def storm(pool: Pool, end: datetime) -> datetime:
    """Fills the hour before `end` of the claims pool, and returns its start.

    In minutes 25 to 35 a storm sheds nightly and some of rescore; nothing is known of the
    minutes 44 to 48.
    """
    start = end - HOUR
    UsageMinute.objects.bulk_create(
        UsageMinute(
            pool_id=pool.pk,
            workload_class=slug,
            minute=start + n * MINUTE,
            allowance=ALLOWANCE,
            **fields,
        )
        for n in range(60)
        if n not in GAP
        for slug, fields in _minute(n).items()
    )
    return start


def _minute(n: int) -> dict[str, dict[str, Any]]:
    wave = math.sin(n / 6)
    blows = n in STORM
    gust = max(0, 6 - abs(n - 30)) if blows else 0
    adjuster = _class(40 + 10 * wave + 18 * gust, 3000)
    rescore = _class(30 - 8 * wave, 2500, {"headroom": gust} if gust > 2 else {})
    nightly = _class(
        max(0, 45 - 8 * gust - 5 * wave), 2200, {"floor_protected": 9 * gust, "headroom": 3 * gust}
    )
    waiting = {"queue_depth": 8 * gust, "oldest_wait_seconds": 11.5 * gust}
    return {
        "adjuster": adjuster | {"floor_tokens": adjuster["charged"] // 2, "borrowed_tokens": 900},
        "rescore": rescore | waiting | {"lent_tokens": 900},
        "nightly": nightly | {"queue_depth": 120 + 30 * gust, "oldest_wait_seconds": 60.0 + 40 * n},
    }


def _class(calls: float, tokens: int, shed: dict[str, int] | None = None) -> dict[str, Any]:
    admitted = round(calls)
    counts = {reason: count for reason, count in (shed or {}).items() if count}
    refused = sum(counts.values())
    return {
        "offered": admitted + refused,
        "admitted": admitted,
        "shed": counts,
        "estimated_tokens": admitted * tokens * 5 // 4,
        "used_tokens": admitted * tokens,
        "charged": admitted * tokens,
    }


def month(pool: Pool, end: datetime) -> None:
    """Fills the 30 days before `end`, by the hour, for every class there is.

    Busy by day; every fifth day at noon the looser half is shed.
    """
    hours = [end.replace(minute=0) - n * HOUR for n in range(1, 30 * 24 + 1)]
    slugs = list(WorkloadClass.objects.values_list("slug", flat=True))
    UsageHour.objects.bulk_create(
        _hour(pool, hour, slug, place, len(slugs))
        for hour in hours
        for place, slug in enumerate(slugs)
    )


def _hour(pool: Pool, hour: datetime, slug: str, place: int, classes: int) -> UsageHour:
    day = 1 + math.sin((hour.hour - 8) / 24 * 2 * math.pi)
    spike = hour.day % 5 == 0 and hour.hour in (12, 13) and place >= classes / 2
    calls = round(60 * (200 + 120 * day) / classes)
    shed = {"floor_protected": calls // 2, "headroom": calls // 5} if spike else {}
    return UsageHour(
        pool_id=pool.pk,
        workload_class=slug,
        hour=hour,
        minute=hour + 59 * MINUTE,
        minutes=60,
        allowance=60 * ALLOWANCE,
        offered=calls + sum(shed.values()),
        admitted=calls,
        shed=shed,
        charged=calls * 900,
        estimated_tokens=calls * 1000,
        used_tokens=calls * 880,
        floor_tokens=calls * 300,
        borrowed_tokens=calls * 40,
        lent_tokens=calls * 20,
        queue_depth=calls // 20 if place else None,
        oldest_wait_seconds=calls / 30 if place else None,
    )


def ten_classes(slug: str = "busy") -> Pool:
    """A pool with ten classes of all tiers that share it, five of them with long names."""
    tokens = {"unit": "total_tokens", "algorithm": "token_bucket", "amount": ALLOWANCE}
    requests = {"unit": "requests", "algorithm": "gauge", "amount": 400}
    with constraints_left_to_the_database():
        shares = {member.slug: 6 for member in _ten()}
        return make_pool(tokens, requests, slug=slug, shares=shares)


def _ten() -> Iterable[WorkloadClass]:
    tiers = ["interactive"] * 3 + ["near_line"] * 4 + ["bulk"] * 3
    for n, tier in enumerate(tiers):
        slug = f"class-{n}" if n % 2 else f"a-class-with-quite-a-long-name-{n}"
        yield WorkloadClass.objects.get_or_create(
            slug=slug, defaults={"tier": tier, "deadline_seconds": 10 * (n + 1)}
        )[0]
