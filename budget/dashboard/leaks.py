"""What was used at the provider and never came through us, as far as it was found."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from budget.dashboard.units import unit_in_words
from budget.models import ApiKey, Observation, Pool

MOST = 50
IN_PROCESS = "the service itself"


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
    found = Observation.objects.filter(pool_id=pool.pk, at__gte=start, at__lt=end)
    rows = list(found.exclude(leaked={}).order_by("-at").values("at", "leaked", "key_prefix"))
    total = Counter[str]()
    for row in rows:
        total.update(row["leaked"])
    newest = rows[:MOST]
    prefixes = {row["key_prefix"] for row in newest}
    names = dict(ApiKey.objects.filter(prefix__in=prefixes).values_list("prefix", "name"))
    return Leaks(
        [
            Leak(row["at"], _in_words(row["leaked"]), _teller(row["key_prefix"], names))
            for row in newest
        ],
        len(rows),
        _in_words(total),
    )


def lowered(pool: Pool, since: datetime) -> dict[str, datetime]:
    """When limits last came down to what the provider had left, by unit; none from before."""
    found = Observation.objects.filter(pool_id=pool.pk, at__gte=since).exclude(leaked={})
    newest: dict[str, datetime] = {}
    for at, leaked in found.order_by("-at").values_list("at", "leaked")[:MOST]:
        for unit in leaked:
            newest.setdefault(unit, at)
    return newest


def _in_words(leaked: Mapping[str, int]) -> str:
    amounts = (f"{amount:,} {unit_in_words(unit)}" for unit, amount in leaked.items())
    return " and ".join(amounts)


def _teller(prefix: str, names: Mapping[str, str]) -> str:
    return f"the API key {names.get(prefix, prefix)}" if prefix else IN_PROCESS
