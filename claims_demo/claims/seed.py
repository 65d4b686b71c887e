"""The claims there are before the first storm."""

from datetime import datetime, timedelta
from random import Random
from typing import Any

from django.db import transaction
from django.utils import timezone

from claims_demo.claims import replies, requests, stories
from claims_demo.claims.events import open_claim, record
from claims_demo.claims.requests import Request
from claims_demo.local_model.words import reply
from claims_demo.models import Claim
from claims_demo.models.claim import CLOSED

CLAIMS = 240
OLDEST = timedelta(days=40)
SEED = 4711
SCORED, CLASSIFIED = 0.9, 0.6
"""How many are."""
MOST_HAPPENINGS = 6
STATUSES = (Claim.Status.ASSESSING, Claim.Status.ASSESSING, Claim.Status.WAITING)
LAST_NIGHT = timedelta(hours=8)


@transaction.atomic
def seed() -> int:
    """Make up the claims, always the same ones but for the times; how many.

    Claims that are there already stay, and nothing is made.
    """
    if Claim.objects.exists():
        return 0
    random, now = Random(SEED), timezone.now()
    ages = sorted((OLDEST * random.random() ** 1.5 for _ in range(CLAIMS)), reverse=True)
    for age in ages:
        _make(now - age, now, random)
    return CLAIMS


def _make(opened_at: datetime, now: datetime, random: Random) -> None:
    claim = stories.reported(random)
    claim.opened_at = claim.changed_at = opened_at
    open_claim(claim)
    count = random.randint(0, MOST_HAPPENINGS)
    for at in sorted(opened_at + (now - opened_at) * random.random() for _ in range(count)):
        record(claim, stories.next_happening(claim, random), at, random.choice(STATUSES))
        if claim.status in CLOSED:
            break
    _judge(claim, now, random)


def _judge(claim: Claim, now: datetime, random: Random) -> None:
    """As the last days' runs would have left it: most claims have a score, many a category."""
    if random.random() < SCORED:
        claim.score = replies.score_of(_said(requests.scoring(claim)))
        claim.scored_at = claim.changed_at + timedelta(seconds=random.uniform(4, 200))
    if claim.opened_at < now - LAST_NIGHT and random.random() < CLASSIFIED:
        claim.category = replies.category_of(_said(requests.classification(claim)))
        claim.classified_at = now - LAST_NIGHT
    claim.save(update_fields=["score", "scored_at", "category", "classified_at"])


def _said(request: Request) -> dict[str, Any]:
    """What the local model says, without asking it."""
    return {"content": [{"type": "text", "text": reply(request.text)}]}
