"""What the claims platform's jobs run, and what follows when they end."""

from typing import Any

from django.db.models import Q
from django.utils import timezone

from budget.jobs import llm
from budget.signals import ended
from budget.tasks import Attempt, task
from claims_demo.claims import replies, requests
from claims_demo.claims.nightly import take_in_answer
from claims_demo.models import Claim

ended.connect(take_in_answer, dispatch_uid="claims_demo.take_in_answer")

RESCORE = "claims_demo.tasks.rescore"


@task
def rescore(attempt: Attempt, *, claim: str) -> dict[str, Any]:
    """Have the claim of that number scored as it stands now.

    Running twice does no harm: a score of an earlier moment never replaces a later one. Of a
    claim that is gone by then there is nothing to score.
    """
    found = Claim.objects.filter(number=claim).first()
    if found is None:
        attempt.used(0, 0)
        return {"score": None}
    now = timezone.now()
    score = replies.score_of(llm.request(attempt, **requests.scoring(found).args))
    older = Q(scored_at=None) | Q(scored_at__lt=now)
    Claim.objects.filter(older, pk=found.pk).update(score=score, scored_at=now)
    return {"score": score}
