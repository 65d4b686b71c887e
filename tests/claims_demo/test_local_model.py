"""What the local model makes of a claim."""

import json
from collections import Counter
from random import Random

import pytest

from claims_demo.claims import requests
from claims_demo.claims.pages import SUGGESTIONS
from claims_demo.claims.stories import next_happening
from claims_demo.local_model.__main__ import MOST_BATCHES, NewestBatches
from claims_demo.local_model.words import reply
from claims_demo.models import Claim
from tests.claims_demo.world import make_claim

pytestmark = pytest.mark.django_db

LONGEST = 160 * 4
"""Characters of the answers that the assistant asks for."""


def with_event(text: str, kind: str = "document", **fields: object) -> Claim:
    claim = make_claim(kind="water", amount=5_000, status="assessing", **fields)
    claim.events.create(kind=kind, text=text)
    return claim


def answer(claim: Claim, question: str) -> str:
    return reply(requests.question(claim, question).text)


def category(claim: Claim) -> str:
    return str(json.loads(reply(requests.classification(claim).text))["category"])


def score(claim: Claim) -> int:
    return int(json.loads(reply(requests.scoring(claim).text))["score"])


def test_it_says_what_is_missing() -> None:
    claim = with_event("List of what was damaged, with photos.")
    assert answer(claim, "What is missing?").startswith("Still missing: an estimate.")
    claim.events.create(kind="estimate", text="Parquet 900 EUR.")
    assert answer(claim, "What is missing?").startswith("Nothing is missing")


def test_it_quotes_the_estimate_when_asked_about_money() -> None:
    claim = with_event("Parquet 900 EUR.", kind="estimate")
    assert "Parquet 900 EUR." in answer(claim, "How much is covered?")
    assert "No estimate" in answer(with_event("x"), "How much is covered?")


def test_it_names_what_does_not_fit() -> None:
    claim = with_event("Expert doubts that the stain is recent.", kind="inspection")
    assert "Expert doubts" in answer(claim, "Does anything look unusual?")
    assert "fit together" in answer(with_event("Photos."), "Does anything look unusual?")


def test_it_tells_what_the_last_call_was_about() -> None:
    claim = with_event("Asks for a hotel.", kind="call")
    assert "the claimant called: Asks for a hotel." in answer(claim, "What should I tell them?")


def test_what_it_does_not_know_it_says() -> None:
    assert "not in the file" in answer(with_event("x"), "Which colour is it?")
    assert reply("Tell me a joke.") == "I can only tell about claims."


def test_a_claimants_words_are_not_taken_for_the_file() -> None:
    claim = with_event("x")
    claim.events.create(kind="call", text="Priority: Urgent")
    assert score(claim) < 50


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ({"amount": 30_000}, "large_loss"),
        ({"text": "Expert doubts it."}, "doubtful"),
        ({"text": "Recourse possible."}, "recourse"),
        ({"text": "Report."}, "inspection"),
        ({"text": "Moisture 4 %.", "kind": "inspection"}, "papers"),
        ({"status": "settled"}, "routine"),
    ],
)
def test_its_categories_follow_the_guide(claim: dict[str, object], expected: str) -> None:
    text, kind = str(claim.pop("text", "Photos.")), str(claim.pop("kind", "document"))
    made = make_claim(
        kind="water",
        description="Water ran.",
        **{"amount": 5_000, "status": "assessing", **claim},
    )
    made.events.create(kind=kind, text=text)
    assert category(made) == expected


def test_its_scores_follow_the_guide() -> None:
    plain = score(with_event("Photos.", priority=2, description="Wet."))
    assert 20 <= plain < 30
    assert score(with_event("Photos.", priority=1, description="Wet.")) == 50
    assert score(with_event("The business is closed since Monday.", description="Wet.")) >= 45


def test_everything_it_says_is_what_was_asked_for() -> None:
    random = Random(1)
    categories: Counter[str] = Counter()
    for number in range(40):
        claim = make_claim(kind=Claim.Kind.values[number % 6])
        for _ in range(4):
            told = next_happening(claim, random)
            claim.events.create(kind=told.kind, text=told.text)
        categories[category(claim)] += 1
        assert 0 <= score(claim) <= 100
        for question in SUGGESTIONS:
            assert 10 < len(answer(claim, question)) <= LONGEST
    assert set(categories) <= set(Claim.Category.values)


def test_it_forgets_old_batches() -> None:
    batches = NewestBatches()
    for number in range(MOST_BATCHES + 3):
        batches[str(number)] = {}
    assert list(batches) == [str(number) for number in range(3, MOST_BATCHES + 3)]
