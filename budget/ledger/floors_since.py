"""The floors that policies of the past promised."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from budget.ledger.clock import moment
from budget.ledger.tally import allowance
from budget.ledger.terms import Policy
from budget.models import PolicyRevision
from budget.rule.terms import PoolTerms

MOST_REVISIONS = 500
ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)


class FloorsSince(NamedTuple):
    """The nominal floors from a moment on, as reservations state them."""

    at: datetime
    version: int
    per_minute: dict[str, float]
    """By class: its share of what the leading limit allows in a minute."""
    allowance: int
    """What the leading limit allows the whole pool in a minute; 0 for a gauge."""


def floors_between(
    pool_id: int, start: datetime, end: datetime, present: Policy
) -> list[FloorsSince]:
    """Those of every policy version that held meanwhile, in order.

    The first began at or before the start, unless more than the newest 500 versions came since.
    """
    if moment(present.changed_at) <= start:
        return [_floors(present.terms, moment(present.changed_at))]
    return list(_newest_first(pool_id, start, end))[::-1] or [_floors(present.terms, ALWAYS)]


def _newest_first(pool_id: int, start: datetime, end: datetime) -> Iterator[FloorsSince]:
    revisions = PolicyRevision.objects.filter(pool_id=pool_id, changed_at__lt=end)
    for revision in revisions.order_by("-changed_at", "-version")[:MOST_REVISIONS]:
        try:
            terms = msgspec.convert(revision.terms, PoolTerms)
        except msgspec.ValidationError:  # left by a version of this program with other terms
            continue
        yield _floors(terms, revision.changed_at)
        if revision.changed_at <= start:
            return


def _floors(terms: PoolTerms, at: datetime) -> FloorsSince:
    if terms.leading is None:
        return FloorsSince(at, terms.version, {}, 0)
    allowed, leading = allowance(terms), terms.limits[terms.leading].name
    shares = {
        member.slug: member.share * allowed
        for member in terms.classes
        if leading not in member.except_limits
    }
    return FloorsSince(at, terms.version, shares, allowed)
