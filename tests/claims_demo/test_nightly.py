"""The nightly classification: what is due, what the queue takes, and what comes of it."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from budget import services
from budget.models import Call, Job, Pool, WorkloadClass
from budget.signals import ended
from claims_demo.claims.nightly import classify, due, take_in_answer, take_in_answers
from claims_demo.models import Claim
from tests.claims_demo.world import make_claim, message
from tests.jobs.queueing import finish, take_one

pytestmark = pytest.mark.usefixtures("platform")


PAPERS = '{"category": "papers"}'


def run_job(text: str = PAPERS, **ending: Any) -> None:
    """Run the job that waits, one by one, as a worker does."""
    Pool.objects.update(batch=False)
    finish(take_one("bulk"), result=json.dumps(message(text)), **ending)


def classified(claim: Claim, text: str = PAPERS) -> Claim:
    """The claim after its job was run."""
    run_job(text)
    claim.refresh_from_db()
    return claim


def test_claims_that_changed_are_due_the_most_urgent_first() -> None:
    now = timezone.now()
    low, urgent = make_claim(priority=3), make_claim(priority=1)
    changed = make_claim(priority=2, classified_at=now - timedelta(hours=2), changed_at=now)
    make_claim(classified_at=now, changed_at=now - timedelta(hours=1))
    make_claim(classification_job=uuid4())
    assert list(due()) == [urgent, changed, low]


def test_each_due_claim_becomes_one_job_for_the_batch_endpoint() -> None:
    claim = make_claim()
    assert classify(10) == {"enqueued": 1}
    assert classify(10) == {}
    job = Job.objects.get()
    assert (job.workload_class, job.task) == ("nightly", "budget.jobs.llm.request")
    assert (job.batchable, job.model) == (True, "claude-haiku-4-5")
    assert job.source == "claims_demo.claims.nightly.classify"
    assert job.tags == {"claim": claim.number}
    args = json.loads(job.args)
    assert claim.number in args["messages"][0]["content"]
    assert "Classify this claim." in args["messages"][0]["content"]


def test_an_urgent_claim_does_not_wait_for_a_batch_and_draws_on_the_pool() -> None:
    make_claim(priority=1)
    make_claim(priority=2)
    classify(2)
    urgent = take_one("bulk")
    assert not Call.objects.get(pk=urgent.call_id).of_batch
    job = Job.objects.get(pk=urgent.id)
    assert job.deadline - job.enqueued_at == timedelta(minutes=10)
    assert Job.objects.get(state="queued").tags != job.tags, "the other waits for its batch"


def test_no_more_are_enqueued_than_wanted() -> None:
    for _ in range(3):
        make_claim()
    assert classify(2) == {"enqueued": 2}
    assert due().count() == 1


def test_what_a_full_queue_refuses_stays_due() -> None:
    WorkloadClass.objects.filter(slug="nightly").update(queue_limit=2)
    for _ in range(5):
        make_claim()
    assert classify(10) == {"enqueued": 2, "queue_full": 3}
    assert due().count() == 3


def test_an_answer_is_a_category_of_the_claim_as_it_was_when_enqueued() -> None:
    claim = make_claim()
    classify(1)
    job = Job.objects.get()
    claim = classified(claim)
    assert (claim.category, claim.classified_at) == ("papers", job.enqueued_at)
    assert claim.classification_job is None
    assert not due().exists()
    claim.changed_at = timezone.now()
    claim.save()
    assert list(due()) == [claim]


@pytest.fixture
def missed() -> Iterator[None]:
    """Nobody hears that a job ends, as when the process dies that ended it."""
    ended.disconnect(dispatch_uid="claims_demo.take_in_answer")
    yield
    ended.connect(take_in_answer, dispatch_uid="claims_demo.take_in_answer")


@pytest.mark.usefixtures("missed")
def test_what_was_missed_is_taken_in_by_the_next_run_once() -> None:
    claim = make_claim()
    classify(1)
    assert take_in_answers() == 0
    assert classified(claim).category == ""
    classify(0)
    claim.refresh_from_db()
    assert claim.category == "papers"
    assert take_in_answers() == 0


@pytest.mark.parametrize("text", ["no idea", '{"category": "urgent"}', ""])
def test_an_answer_without_a_category_leaves_the_claim_due(text: str) -> None:
    claim = make_claim(category="routine")
    classify(1)
    claim = classified(claim, text)
    assert (claim.category, claim.classification_job) == ("routine", None)
    assert list(due()) == [claim]


@pytest.mark.parametrize("how", ["failed", "cancelled", "pruned"])
def test_a_job_that_comes_to_nothing_leaves_the_claim_due(how: str) -> None:
    claim = make_claim()
    classify(1)
    if how == "failed":
        run_job(ending="failed", outcome="failed", error="no", final=True)
    elif how == "cancelled":
        services.cancel_job(Job.objects.get().pk)
    else:
        Job.objects.all().delete()
        assert classify(0) == {}
    assert list(due()) == [claim]


def test_a_claim_that_is_gone_by_then_is_nobodys() -> None:
    claim = make_claim()
    classify(1)
    claim.delete()
    run_job()
    assert take_in_answers() == 0


def test_the_list_says_what_came_of_a_run_by_hand(member: Client) -> None:
    User.objects.get().user_permissions.add(Permission.objects.get(codename="classify_claims"))
    WorkloadClass.objects.filter(slug="nightly").update(queue_limit=1)
    for _ in range(3):
        make_claim()
    page = member.post("/nightly", follow=True).content.decode()
    assert "Enqueued 1 claim;" in page
    assert "2 claims refused (queue_full): due again next time." in page
    assert "on its way" in page
