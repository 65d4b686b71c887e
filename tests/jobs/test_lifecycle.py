"""A job from its enqueueing to its end."""

from uuid import UUID

import pytest

from budget import services
from budget.models import Call
from budget.services import JobEnded, UnknownJob
from tests.jobs.queueing import enqueue, finish, take, take_one
from tests.ledger.pools import make_classes, make_pool


@pytest.fixture(autouse=True)
def _pool() -> None:
    make_classes()
    make_pool()


def test_a_job_is_enqueued_taken_and_succeeds() -> None:
    place = enqueue(args={"claim": 7})
    assert (place.state, place.position, place.queue.depth) == ("queued", 1, 1)

    job = take_one()
    assert (job.id, job.attempt, job.args) == (place.id, 1, '{"claim":7}')
    assert services.queues("claims")["rescore"].running == 1

    assert finish(job, result='{"score":1}', input_tokens=900, output_tokens=5).state == "succeeded"
    told = services.job(place.id)
    assert (told["state"], told["attempts"], told["result"]) == (
        "succeeded",
        1,
        {"score": 1},
    )
    call = Call.objects.get(job_id=place.id)
    assert (call.state, call.used_input_tokens, call.used_output_tokens) == ("settled", 900, 5)
    assert [step["event"] for step in told["trail"]] == ["started", "succeeded"]


def test_the_same_ending_again_changes_nothing() -> None:
    enqueue()
    job = take_one()
    first = finish(job)
    assert finish(job) == first


def test_a_cancelled_job_never_starts_and_charges_nothing() -> None:
    place = enqueue()
    assert services.cancel_job(place.id)["state"] == "cancelled"
    assert take().jobs == []
    assert not Call.objects.exists()
    assert services.cancel_job(place.id)["state"] == "cancelled"


def test_a_finished_job_cannot_be_cancelled() -> None:
    enqueue()
    job = take_one()
    finish(job)
    with pytest.raises(JobEnded, match="succeeded already"):
        services.cancel_job(job.id)


def test_an_unknown_job_is_unknown() -> None:
    with pytest.raises(UnknownJob):
        services.job(UUID(int=5))
    with pytest.raises(UnknownJob):
        services.cancel_job(UUID(int=5))
