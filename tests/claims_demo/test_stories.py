"""What claims are made of, and the claims there are before the first storm."""

from collections import Counter
from random import Random

import pytest
from django.utils import timezone

from claims_demo.claims import requests
from claims_demo.claims.nightly import due
from claims_demo.claims.seed import CLAIMS, seed
from claims_demo.claims.stories import next_happening, reported
from claims_demo.models import Claim, ClaimEvent
from tests.claims_demo.world import make_claim

pytestmark = pytest.mark.django_db

LARGEST_REQUEST = 16_000
"""Tokens; the policy's `max_call_tokens`."""


def test_the_same_chance_makes_the_same_claim() -> None:
    one, other = reported(Random(3)), reported(Random(3))
    assert (one.claimant, one.description, one.amount) == (
        other.claimant,
        other.description,
        other.amount,
    )


def test_claims_come_in_all_kinds_and_priorities_and_fit_their_columns() -> None:
    random = Random(1)
    claims = [reported(random) for _ in range(300)]
    assert {claim.kind for claim in claims} == set(Claim.Kind.values)
    assert {claim.priority for claim in claims} == set(Claim.Priority.values)
    for claim in claims:
        claim.clean_fields(exclude=["number"])


def test_every_text_can_be_told_of_every_claim_of_its_story() -> None:
    random = Random(1)
    for _ in range(60):
        claim = make_claim()
        while (told := next_happening(claim, random)).kind != ClaimEvent.Kind.DECISION:
            assert "{" not in told.text
            claim.events.create(kind=told.kind, text=told.text)


def test_a_claim_from_elsewhere_gets_some_story_of_its_kind() -> None:
    claim = make_claim(kind="fire", description="Not one of ours.")
    assert next_happening(claim, Random(1)).text


def test_the_seed_looks_as_if_people_had_worked_on_it() -> None:
    assert seed() == CLAIMS
    now = timezone.now()
    claims = list(Claim.objects.all())
    statuses = Counter(claim.status for claim in claims)
    assert set(statuses) == set(Claim.Status.values) - {"declined"}
    assert statuses["settled"] < CLAIMS / 2
    assert {claim.category for claim in claims} == {"", *Claim.Category.values}
    assert CLAIMS / 4 < due().count() < CLAIMS * 3 / 4
    for claim in claims:
        assert claim.opened_at <= claim.changed_at <= now
        assert claim.score is None or 0 <= claim.score <= 100
        assert sum(request.input_tokens for request in every_request(claim)) < LARGEST_REQUEST


def test_the_seed_is_sown_once() -> None:
    make_claim()
    assert seed() == 0
    assert Claim.objects.count() == 1


def every_request(claim: Claim) -> list[requests.Request]:
    return [
        requests.question(claim, "x" * 500),
        requests.scoring(claim),
        requests.classification(claim),
    ]
