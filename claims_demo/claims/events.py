"""Stores what happens to claims, and keeps their number bounded."""

from datetime import datetime

from django.db import transaction

from claims_demo.claims.stories import Happening
from claims_demo.models import Claim, ClaimEvent
from claims_demo.models.claim import CLOSED

MOST_CLAIMS = 400
MOST_EVENTS = 12
"""Of one claim; the first stays, since it says what was reported."""


@transaction.atomic
def open_claim(claim: Claim) -> None:
    """Store a new claim with what was reported; for each one too many, drop one."""
    claim.save()
    ClaimEvent.objects.create(
        claim=claim,
        kind=ClaimEvent.Kind.REPORTED,
        text=f"{claim.claimant} reports: {claim.description}",
        at=claim.opened_at,
    )
    for spare in _spare():
        spare.delete()


@transaction.atomic
def record(claim: Claim, happening: Happening, status: Claim.Status, at: datetime) -> None:
    """Store what happened to a claim, and how it stands now."""
    ClaimEvent.objects.create(claim=claim, kind=happening.kind, text=happening.text, at=at)
    claim.status, claim.changed_at = status, at
    claim.save(update_fields=["status", "changed_at"])
    events = list(claim.events.values_list("pk", flat=True))
    if len(events) > MOST_EVENTS:
        claim.events.filter(pk__in=events[1 : len(events) - MOST_EVENTS + 1]).delete()


def _spare() -> list[Claim]:
    """Claims beyond the bound: closed ones first, then those nothing happened to for longest."""
    spare = Claim.objects.count() - MOST_CLAIMS
    if spare <= 0:
        return []
    oldest = Claim.objects.order_by("changed_at")
    closed = list(oldest.filter(status__in=CLOSED)[:spare])
    return closed or list(oldest[:spare])
