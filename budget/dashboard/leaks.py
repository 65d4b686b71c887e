"""What was used at the provider and never came through us, as far as it was found."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from django.db import connection
from django.db.models import QuerySet

from budget.dashboard.units import unit_in_words
from budget.models import ApiKey, Observation, Pool

MOST = 50
IN_PROCESS = "the service itself"
TOTAL = """
SELECT unit, sum(amount::bigint)::bigint
FROM budget_observation CROSS JOIN LATERAL jsonb_each_text(leaked) AS l (unit, amount)
WHERE pool_id = %s AND at >= %s AND at < %s AND leaked <> '{}'
GROUP BY unit ORDER BY unit
"""


class Leak(NamedTuple):
    """One that was found."""

    at: datetime
    text: str
    """`40,000 tokens`."""
    teller: str
    """Who was answered with what gave it away: `the API key claims`."""


class Leaks(NamedTuple):
    """Those of a stretch of time."""

    newest: list[Leak]
    """Newest first, at most MOST."""
    times: int
    total: str
    """`140,000 tokens and 30 requests`."""


def leaks_of(pool: Pool, start: datetime, end: datetime) -> Leaks:
    """The leaks of a pool that were found in a stretch of time."""
    found = _found(pool).filter(at__gte=start, at__lt=end)
    newest = list(found.order_by("-at").values("at", "leaked", "key_prefix")[:MOST])
    prefixes = {row["key_prefix"] for row in newest}
    names = dict(ApiKey.objects.filter(prefix__in=prefixes).values_list("prefix", "name"))
    return Leaks(
        [
            Leak(row["at"], _in_words(row["leaked"]), _teller(row["key_prefix"], names))
            for row in newest
        ],
        found.count() if newest else 0,
        _in_words(_total(pool, start, end) if newest else {}),
    )


def lowered(pool: Pool, since: datetime) -> dict[str, datetime]:
    """When limits last came down to what the provider had left, by unit; none from before."""
    found = _found(pool).filter(at__gte=since)
    newest: dict[str, datetime] = {}
    for at, leaked in found.order_by("-at").values_list("at", "leaked")[:MOST]:
        for unit in leaked:
            newest.setdefault(unit, at)
    return newest


def _found(pool: Pool) -> QuerySet[Observation]:
    return Observation.objects.filter(pool_id=pool.pk).exclude(leaked={})


def _total(pool: Pool, start: datetime, end: datetime) -> dict[str, int]:
    """By unit. Added up where they are: while it goes on, a leak is found every second."""
    with connection.cursor() as cursor:
        cursor.execute(TOTAL, (pool.pk, start, end))
        return dict(cursor.fetchall())


def _in_words(leaked: Mapping[str, int]) -> str:
    amounts = (f"{amount:,} {unit_in_words(unit)}" for unit, amount in leaked.items())
    return " and ".join(amounts)


def _teller(prefix: str, names: Mapping[str, str]) -> str:
    return f"the API key {names.get(prefix, prefix)}" if prefix else IN_PROCESS
