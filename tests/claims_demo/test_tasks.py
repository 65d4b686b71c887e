"""The re-score, as a worker runs it."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from budget.tasks import TryAgain, find
from claims_demo.claims.replies import UnreadableReply
from claims_demo.models import Claim
from claims_demo.tasks import RESCORE, rescore
from tests.claims_demo.world import MESSAGES, message
from tests.jobs.provider import Provider
from tests.jobs.test_llm import attempt


def test_jobs_find_it_by_its_name() -> None:
    assert find(RESCORE).function is rescore


def test_a_score_is_stored_with_the_moment_it_is_of(claim: Claim, platform: Provider) -> None:
    platform.fail(MESSAGES, 200, message('{"score": 62, "reason": "wet"}'))
    mine, before = attempt(), timezone.now()
    assert find(RESCORE).run(mine, json.dumps({"claim": claim.number})) == '{"score":62}'
    claim.refresh_from_db()
    assert claim.score == 62
    assert claim.scored_at is not None
    assert before < claim.scored_at < timezone.now()
    assert not claim.is_score_old
    assert mine.usage == (900, 40, 0)


def test_a_later_score_is_not_replaced_by_an_earlier_one(claim: Claim, platform: Provider) -> None:
    later = timezone.now() + timedelta(minutes=1)
    Claim.objects.update(score=11, scored_at=later)
    platform.fail(MESSAGES, 200, message('{"score": 62}'))
    rescore(attempt(), claim=claim.number)
    claim.refresh_from_db()
    assert (claim.score, claim.scored_at) == (11, later)


def test_a_claim_that_is_gone_costs_nothing(platform: Provider) -> None:
    mine = attempt()
    assert rescore(mine, claim="C-2026-000001") == {"score": None}
    assert mine.usage == (0, 0, 0)
    assert platform.calls == []


def test_what_is_no_score_is_a_failure_that_was_paid_for(claim: Claim, platform: Provider) -> None:
    platform.fail(MESSAGES, 200, message("I'd rather not say."))
    mine = attempt()
    with pytest.raises(UnreadableReply):
        rescore(mine, claim=claim.number)
    claim.refresh_from_db()
    assert claim.score is None
    assert mine.usage == (900, 40, 0)


def test_a_provider_in_trouble_has_it_come_back(claim: Claim, platform: Provider) -> None:
    platform.fail(MESSAGES, 529)
    with pytest.raises(TryAgain):
        rescore(attempt(), claim=claim.number)
