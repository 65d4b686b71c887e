"""What comes in about claims, each time a reason to score the claim again."""

from random import Random

from django.db import transaction
from django.utils import timezone

from budget import services
from budget.services import Shed
from claims_demo.claims import POOL, requests, stories
from claims_demo.claims.events import open_claim, record
from claims_demo.models import Claim
from claims_demo.models.claim import CLOSED
from claims_demo.tasks import RESCORE

SOURCE = "claims_demo.claims.intake.take_in"
NEW_CLAIMS = 0.25
"""How often a claim is new."""


def take_in(random: Random) -> str:
    """Store the next thing that happens to some claim, and have the claim scored again.

    Returns `enqueued`, or why the queue refused: the claim keeps the score it had, which its
    page calls old. Raises LedgerUnavailable.
    """
    claim = _next(random)
    request = requests.scoring(claim)
    try:
        services.enqueue(
            POOL,
            "rescore",
            RESCORE,
            {"claim": claim.number},
            input_tokens=request.input_tokens,
            output_tokens=request.max_tokens,
            source=SOURCE,
            tags={"claim": claim.number, "priority": claim.get_priority_display().lower()},
        )
    except Shed as shed:
        return shed.reason
    return "enqueued"


@transaction.atomic
def _next(random: Random) -> Claim:
    """The claim that something has just happened to."""
    known = None if random.random() < NEW_CLAIMS else _any_open()
    if known is not None:
        record(known, stories.next_happening(known, random), timezone.now())
        return known
    new = stories.reported(random)
    open_claim(new)
    return new


def _any_open() -> Claim | None:
    """Held on to until what happens to it is stored."""
    free = Claim.objects.select_for_update(skip_locked=True, no_key=True)
    return free.exclude(status__in=CLOSED).order_by("?").first()
