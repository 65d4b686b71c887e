"""The claims there are before the first storm."""

from datetime import datetime, timedelta
from random import Random

from django.db import transaction
from django.utils import timezone

from claims_demo.claims import stories
from claims_demo.claims.events import open_claim, record
from claims_demo.claims.stories import Happening
from claims_demo.models import Claim

CLAIMS = 120
OLDEST = timedelta(days=40)
SEED = 4711
SETTLED = 0.2
"""How many are."""
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
    count = random.randint(0, 6)
    moments = sorted(opened_at + (now - opened_at) * random.random() for _ in range(count))
    seen: set[Happening] = set()
    for at in moments:
        happening = stories.happening(claim, random)
        if happening not in seen:
            seen.add(happening)
            record(claim, happening, random.choice(OPEN), at)
    if seen and random.random() < SETTLED:
        record(claim, stories.decision(claim, random), Claim.Status.SETTLED, now)
    _score(claim, now, random)


OPEN = (Claim.Status.ASSESSING, Claim.Status.ASSESSING, Claim.Status.WAITING)


def _score(claim: Claim, now: datetime, random: Random) -> None:
    """As the last days' runs would have left it: most claims have a score, many a category."""
    if random.random() < 0.9:
        claim.score = random.randint(8, 92)
        claim.scored_at = claim.changed_at + timedelta(seconds=random.uniform(4, 200))
    if claim.opened_at < now - LAST_NIGHT and random.random() < 0.8:
        claim.category = random.choice(Claim.Category.values)
        claim.classified_at = now - LAST_NIGHT
    claim.save(update_fields=["score", "scored_at", "category", "classified_at"])
