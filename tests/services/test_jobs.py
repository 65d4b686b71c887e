"""The verbs about jobs: what they tell, and to whom."""

from uuid import UUID

import pytest

from budget import services
from budget.ledger.operations import Caller
from budget.models import Pool, WorkloadClass
from tests.jobs.queueing import BOTH, ECHO, enqueue, finish, take_one
from tests.ledger.pools import make_pool

pytestmark = pytest.mark.usefixtures("classes")

OURS, THEIRS = Caller("ours"), Caller("theirs")


@pytest.fixture(autouse=True)
def pool(classes: None) -> Pool:
    """The claims pool."""
    return make_pool()


def test_a_job_is_told_in_full() -> None:
    place = enqueue(args={"claim": 7}, source="cron", tags={"run": "1"}, caller=OURS)
    told = services.job(place.id)
    assert (told["id"], told["state"], told["pool"]) == (place.id, "queued", "claims")
    assert (told["task"], told["args"], told["source"]) == (ECHO, {"claim": 7}, "cron")
    assert (told["attempts"], told["result"], told["error"], told["trail"]) == (0, None, None, [])
    assert told["deadline"] == place.deadline
    finish(take_one(), result='{"score":1}')
    told = services.job(place.id)
    assert (told["state"], told["result"]) == ("succeeded", {"score": 1})
    assert [step["event"] for step in told["trail"]] == ["started", "succeeded"]


def test_a_job_is_its_callers_own() -> None:
    place = enqueue(caller=OURS)
    assert services.job(place.id, OURS)["state"] == "queued"
    with pytest.raises(services.UnknownJob):
        services.job(place.id, THEIRS)
    with pytest.raises(services.UnknownJob):
        services.cancel_job(place.id, caller=THEIRS)
    assert services.cancel_job(place.id, caller=OURS)["state"] == "cancelled"


def test_a_job_is_found_by_its_id_as_text() -> None:
    place = enqueue()
    assert services.job(str(place.id))["id"] == place.id
    assert services.cancel_job(str(place.id))["state"] == "cancelled"


@pytest.mark.parametrize("text", ["", "7", "no such job", "\0"])
def test_what_is_no_id_is_no_job(text: str) -> None:
    for verb in (services.job, services.cancel_job):
        with pytest.raises(services.UnknownJob, match="no job"):
            verb(text)


def test_jobs_of_no_pool_are_unknown() -> None:
    with pytest.raises(services.UnknownJob):
        services.job(UUID(int=0))
    with pytest.raises(services.UnknownJob):
        services.cancel_job(UUID(int=0))
    with pytest.raises(services.UnknownPool):
        services.take(0, BOTH, 1)
    with pytest.raises(services.UnknownPool):
        services.enqueue("nowhere", "rescore", ECHO, input_tokens=1, output_tokens=0)


def test_a_pool_that_was_made_anew_takes_jobs_at_once(pool: Pool) -> None:
    enqueue()
    pool.delete()
    made = make_pool()
    place = enqueue()
    assert place.queue.depth == 1
    assert services.take(made.pk, BOTH, 5).jobs[0].id == place.id


def test_each_queued_class_shows_its_queue() -> None:
    WorkloadClass.objects.filter(slug="rescore").update(queue_limit=4)
    enqueue(tokens=100), enqueue(tokens=50)
    shown = services.queues("claims")
    assert set(shown) == {"rescore", "nightly"}
    queue = shown["rescore"]
    assert (queue.depth, queue.tokens, queue.running, queue.state) == (2, 150, 0, "amber")
    assert queue.oldest_wait_seconds is not None
    assert queue.expected_wait_seconds is None
    take_one()
    queue = services.queues("claims")["rescore"]
    assert (queue.depth, queue.running, queue.state) == (1, 1, "green")
    assert services.queues("claims")["nightly"].oldest_wait_seconds is None


def test_looking_at_queues_takes_no_lock_and_changes_nothing(pool: Pool) -> None:
    enqueue()
    before = services.pool_view("claims")["classes"]
    services.queues("claims")
    assert services.due(BOTH)[pool.pk] <= 0
    after = services.pool_view("claims")["classes"]
    assert before["rescore"]["depth"] == after["rescore"]["depth"] == 1
