"""A commit whose reply is lost: no job twice, none lost, and the counts right.

Invariant 11 for jobs.
"""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from budget import services
from budget.models import Call, Job, Limit, Pool, WorkloadClass
from tests.jobs.accounts import check_accounts
from tests.jobs.queueing import BATCHED, enqueue, finish, take, take_one
from tests.ledger.conftest import quiet
from tests.ledger.pools import available, make_classes, make_pool, together
from tests.ledger.proxy import Proxy
from tests.ledger.test_faults import proxy

__all__ = ["proxy", "quiet"]

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.fixture(autouse=True)
def pool(proxy: Proxy) -> Iterator[Pool]:
    """The claims pool, at the far end of a connection that loses what it is told to."""
    make_classes()
    made = make_pool(batch=True, batch_window_hours=1)
    Limit.objects.create(
        pool=made, of_batch=True, unit="total_tokens", algorithm="gauge", amount=5_000
    )
    enqueue()
    finish(take_one())
    yield made
    check_accounts(made)


@pytest.fixture
def losing(proxy: Proxy) -> Callable[[Callable[[], Any]], Any]:
    """Do something whose next two commits go unanswered."""

    def do(something: Callable[[], Any]) -> Any:
        proxy.lose_replies = 2
        result = something()
        assert proxy.lose_replies < 2
        proxy.lose_replies = 0
        return result

    return do


def test_a_place(losing: Any) -> None:
    place = losing(lambda: enqueue(idempotency_key="a"))
    assert (place.state, place.replayed) == ("queued", False)
    assert Job.objects.filter(state="queued").count() == 1
    assert enqueue(idempotency_key="a").id == place.id


def test_a_refusal(losing: Any) -> None:
    WorkloadClass.objects.update(queue_limit=1)
    enqueue()
    with pytest.raises(services.Shed) as shed:
        losing(enqueue)
    assert shed.value.admission.reason == "queue_full"
    assert Call.objects.filter(state="shed").count() == 1


def test_what_was_taken(losing: Any) -> None:
    for _ in range(5):
        enqueue()
    taken = losing(lambda: take(3))
    assert [(job.attempt, job.task) for job in taken.jobs] == [(1, "tests.echo")] * 3
    assert len({job.id for job in taken.jobs}) == 3
    assert Job.objects.filter(state="running").count() == 3
    assert available() == pytest.approx(60_000 - 3000, abs=2000)


def test_taking_in_vain(losing: Any) -> None:
    enqueue("nightly", 50_000), enqueue("nightly", 50_000)
    take_one()
    assert losing(lambda: take(1)).jobs == []
    assert Job.objects.filter(state="queued").count() == 1


def test_what_was_collected(losing: Any, pool: Pool) -> None:
    for _ in range(3):
        enqueue("nightly", task=BATCHED, args={"model": "small"})
    collected = losing(lambda: services.collect(pool.pk, uuid4(), "small", 2, 10_000))
    assert len(collected.jobs) == 2
    assert Job.objects.filter(state="running").count() == 2


@pytest.mark.parametrize(
    ("ending", "outcome", "state"),
    [
        ("succeeded", "succeeded", "succeeded"),
        ("failed", "failed", "queued"),
        ("sent_away", "rate_limited", "queued"),
    ],
)
def test_an_ending(losing: Any, ending: str, outcome: str, state: str) -> None:
    enqueue()
    job = take_one()
    told = losing(lambda: finish(job, ending=ending, outcome=outcome))
    assert (told.state, told.accepted) == (state, True)
    events = [step["event"] for step in Job.objects.get(pk=job.id).trail]
    assert events == ["started", ending]


def test_a_cancelling(losing: Any) -> None:
    place = enqueue()
    assert losing(lambda: services.cancel_job(place.id))["state"] == "cancelled"
    assert take().jobs == []


def test_all_of_it_together_again_and_again(proxy: Proxy, pool: Pool) -> None:
    """Every job is run to its end once, whatever is lost on the way."""

    def work() -> list[Any]:
        done = []
        for n in range(12):
            enqueue(tokens=1)
            if n % 3 == 0:
                proxy.lose_replies = 1
            for job in take(2).jobs:
                assert finish(job).accepted
                done.append(job.id)
        return done

    done = [job_id for jobs in together(4, work) for job_id in jobs]
    proxy.lose_replies = 0
    while jobs := take(5).jobs:
        done += [job.id for job in jobs if finish(job).accepted]
    assert len(done) == len(set(done)) == 48
    assert set(Job.objects.values_list("state", flat=True)) == {"succeeded"}
    assert set(Job.objects.values_list("attempts", flat=True)) == {1}
