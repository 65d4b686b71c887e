"""Stores what happens to claims, and keeps it bounded however long the demo runs."""

from contextlib import suppress
from datetime import datetime

from django.db import IntegrityError, transaction

from claims_demo.claims.assistant import Answer
from claims_demo.claims.stories import Happening
from claims_demo.models import Claim, ClaimEvent, Question
from claims_demo.models.claim import CLOSED

MOST_CLAIMS = 400
MOST_EVENTS = 12
"""Of one claim; the first stays, since it says what was reported."""
MOST_QUESTIONS = 20
"""About one claim."""


@transaction.atomic
def open_claim(claim: Claim) -> None:
    """Store a new claim with what was reported; for each one too many, drop one."""
    claim.save()
    ClaimEvent.objects.create(
        claim=claim,
        kind=ClaimEvent.Kind.REPORTED,
        text="Taken down, and confirmed to the claimant.",
        at=claim.opened_at,
    )
    for spare in _spare():
        spare.delete()


@transaction.atomic
def record(
    claim: Claim,
    happening: Happening,
    at: datetime,
    status: Claim.Status = Claim.Status.ASSESSING,
) -> None:
    """Store what happened to a claim, and how it stands now; a decision settles it."""
    ClaimEvent.objects.create(claim=claim, kind=happening.kind, text=happening.text, at=at)
    decided = happening.kind == ClaimEvent.Kind.DECISION
    claim.status, claim.changed_at = Claim.Status.SETTLED if decided else status, at
    claim.save(update_fields=["status", "changed_at"])
    events = list(claim.events.values_list("pk", flat=True))
    if len(events) > MOST_EVENTS:
        claim.events.filter(pk__in=events[1 : len(events) - MOST_EVENTS + 1]).delete()


def remember(claim: Claim, username: str, question: str, answer: Answer) -> None:
    """Store what somebody asked about a claim and was answered, unless the claim is gone."""
    asked = Question(
        claim=claim,
        asked_by=username,
        text=question,
        answer=answer.text,
        seconds=answer.seconds,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
    )
    with suppress(IntegrityError):
        asked.save()
    newest = claim.questions.order_by("-pk").values_list("pk", flat=True)[:MOST_QUESTIONS]
    claim.questions.exclude(pk__in=list(newest)).delete()


def _spare() -> list[Claim]:
    """Claims beyond the bound: closed ones first, then those nothing happened to for longest.

    None that something happens to just now.
    """
    spare = Claim.objects.count() - MOST_CLAIMS
    if spare <= 0:
        return []
    oldest = Claim.objects.order_by("changed_at").select_for_update(skip_locked=True)
    closed = list(oldest.filter(status__in=CLOSED)[:spare])
    return closed or list(oldest[:spare])
