"""Untagged callers: the places in the code whose calls name no class."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from django.urls import reverse
from django.utils.http import urlencode

from budget import services
from budget.dashboard.addresses import sheds_address
from budget.dashboard.sheds.filters import IN_PROCESS
from budget.dashboard.span import Span
from budget.models import Pool
from budget.pages.percents import percent
from budget.services import CallSite, UsageHistory

MOST = 20
"""Call sites shown; how many more there are is said."""


class Untagged(NamedTuple):
    """How many of the calls that were offered on a pool named no class."""

    calls: int
    offered: int

    @property
    def words(self) -> str:
        """`12 calls named no class, 4 % of all that was offered`."""
        noun = "call" if self.calls == 1 else "calls"
        rate = percent(100 * self.calls / self.offered)
        return f"{self.calls:,} {noun} named no class, {rate} of all that was offered"


class Place(NamedTuple):
    """A place in the code, with the pages its calls are on."""

    site: CallSite
    rate: str
    """Its part of all that was offered on the pool, in words."""
    sheds: str
    """Address of those that were shed; empty without any."""
    calls: str
    """Address of all its calls, in the admin."""
    shared: bool = False
    """Whether another key calls from the same place, so that only the key tells them apart."""

    @property
    def key(self) -> str:
        """Prefix of the API key that calls from there."""
        return self.site.key or IN_PROCESS


class UntaggedCallers(NamedTuple):
    """Where the untagged calls of a pool came from, newest first."""

    total: Untagged
    shown: list[Place]
    others: int
    truncated: bool
    """Whether older ones were left out."""
    at: datetime
    """When it was looked."""


def untagged_in(history: UsageHistory) -> Untagged:
    """All that is recorded of a pool in some time, whether shed or let into a class."""
    pasts = history.classes.values()
    return Untagged(
        sum(past.total("untagged") for past in pasts), sum(past.total("offered") for past in pasts)
    )


def untagged_callers(
    pool: Pool, span: Span, total: Untagged, most: int = MOST
) -> UntaggedCallers | None:
    """Who called without a class in that time; None if nobody did, without looking at calls."""
    if not total.calls:
        return None
    found = services.untagged(pool.slug, span.start, span.end)
    return UntaggedCallers(
        total,
        list(_places(pool, span, found.call_sites[:most], total.offered)),
        max(0, len(found.call_sites) - most),
        found.truncated,
        datetime.now(UTC),
    )


def _places(pool: Pool, span: Span, sites: Sequence[CallSite], offered: int) -> Iterator[Place]:
    callers = Counter(source for source, _ in {(site.source, site.key) for site in sites})
    for site in sites:
        place = _place(pool, span, site, offered)
        yield place._replace(shared=callers[site.source] > 1)


def _place(pool: Pool, span: Span, site: CallSite, offered: int) -> Place:
    source = {"source": site.source} if site.source else {"no_source": "1"}
    sheds = {**source, "key": site.key or IN_PROCESS, "decision": "shed"}
    calls = {"untagged__exact": "1", "pool_id": str(pool.pk), "source__exact": site.source}
    return Place(
        site,
        # Calls may have come since they were counted.
        percent(100 * min(1, site.calls / offered)),
        sheds_address(pool, span.query, **sheds) if site.shed else "",
        f"{reverse('admin:budget_call_changelist')}?{urlencode(calls)}",
    )
