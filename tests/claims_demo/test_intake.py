"""Claims come in, and each time a re-score is asked for, without end and without growth."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random
from time import monotonic

import pytest
from django.db import connections

from budget.models import Call, Job, WorkloadClass
from claims_demo.claims import events, intake
from claims_demo.claims.intake import take_in
from claims_demo.models import Claim, ClaimEvent
from tests.claims_demo.world import make_claim
from tests.jobs.provider import Provider

pytestmark = pytest.mark.usefixtures("platform")


def test_a_claim_that_something_happens_to_is_to_be_scored_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intake, "NEW_CLAIMS", 0)
    claim = make_claim(priority=1)
    assert take_in(Random(1)) == "enqueued"
    event = claim.events.last()
    claim.refresh_from_db()
    assert event is not None
    assert claim.changed_at == event.at
    job = Job.objects.get()
    assert (job.task, job.workload_class) == ("claims_demo.tasks.rescore", "rescore")
    assert job.args == f'{{"claim":"{claim.number}"}}'
    assert job.source == "claims_demo.claims.intake.take_in"
    assert job.tags == {"claim": claim.number, "priority": "urgent"}
    assert job.input_tokens > 500


def test_without_open_claims_a_new_one_comes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "NEW_CLAIMS", 0)
    make_claim(status="settled")
    assert take_in(Random(1)) == "enqueued"
    assert Claim.objects.filter(status="new").count() == 1


def test_a_full_queue_refuses_the_score_and_keeps_the_event() -> None:
    WorkloadClass.objects.filter(slug="rescore").update(queue_limit=3)
    outcomes = Counter(take_in(random) for random in [Random(7)] * 5)
    assert outcomes == {"enqueued": 3, "queue_full": 2}
    assert Call.objects.filter(reason="queue_full").count() == 2
    assert ClaimEvent.objects.count() >= 5


def test_nothing_happens_twice_to_a_claim_and_in_the_end_it_is_settled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intake, "NEW_CLAIMS", 0)
    claim, random = make_claim(), Random(1)
    while claim.status != "settled":
        take_in(random)
        claim.refresh_from_db()
    texts = list(claim.events.values_list("text", flat=True))
    assert len(texts) == len(set(texts))
    assert claim.events.last().kind == "decision"  # type: ignore[union-attr]


def test_what_is_stored_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_CLAIMS", 5)
    monkeypatch.setattr(events, "MOST_EVENTS", 3)
    random = Random(1)
    for _ in range(60):
        take_in(random)
    assert Claim.objects.count() == 5
    for claim in Claim.objects.all():
        assert claim.events.count() <= 3
        assert claim.events.first().kind == "reported"  # type: ignore[union-attr]


def test_closed_claims_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_CLAIMS", 2)
    old, closed = make_claim(), make_claim(status="settled")
    new = make_claim()
    assert set(Claim.objects.all()) == {old, new}
    assert closed not in Claim.objects.all()
    newer = make_claim()
    assert set(Claim.objects.all()) == {new, newer}


def test_many_come_in_at_once(monkeypatch: pytest.MonkeyPatch, platform: Provider) -> None:
    monkeypatch.setattr(events, "MOST_CLAIMS", 4)
    WorkloadClass.objects.filter(slug="rescore").update(queue_limit=100)

    def some(seed: int) -> Counter[str]:
        random = Random(seed)
        try:
            return Counter(take_in(random) for _ in range(20))
        finally:
            connections.close_all()

    began = monotonic()
    with ThreadPoolExecutor(4) as threads:
        outcomes = sum(threads.map(some, range(4)), Counter[str]())
    assert outcomes == {"enqueued": 80}
    assert 80 / (monotonic() - began) > 10, "events a second, on a busy machine"
    assert Claim.objects.count() <= 8
