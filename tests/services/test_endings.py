"""Who wants to know is told as a job ends."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db.models import F

from budget import services
from budget.models import Job, Pool
from budget.signals import ended
from tests.jobs.queueing import enqueue, finish, take_one
from tests.ledger.pools import make_pool

pytestmark = pytest.mark.usefixtures("classes", "pool")


@pytest.fixture
def pool(classes: None) -> Pool:
    """The claims pool."""
    return make_pool()


@pytest.fixture
def told() -> Iterator[list[tuple[UUID, str]]]:
    """What a receiver was told: ids of jobs, and their states; the database says the same."""
    heard = []

    def hear(sender: Any, job_id: UUID, state: str, **_: Any) -> None:
        assert Job.objects.get(pk=job_id).state == state
        heard.append((job_id, state))

    ended.connect(hear)
    yield heard
    ended.disconnect(hear)


def test_of_a_job_that_succeeded_or_failed(told: list[tuple[UUID, str]]) -> None:
    first, second = enqueue().id, enqueue().id
    finish(take_one(), result="{}")
    finish(take_one(), ending="failed", outcome="failed", error="no", final=True)
    assert told == [(first, "succeeded"), (second, "failed")]


def test_of_a_job_whose_result_came_too_late(told: list[tuple[UUID, str]]) -> None:
    place = enqueue()
    taken = take_one()
    Job.objects.update(deadline=F("enqueued_at"))
    finish(taken, result="{}")
    assert told == [(place.id, "expired")]


def test_not_of_a_job_that_goes_on(told: list[tuple[UUID, str]]) -> None:
    enqueue()
    finish(take_one(), ending="failed", outcome="failed", error="no", rest_seconds=0)
    assert told == []


def test_of_jobs_that_are_cancelled(told: list[tuple[UUID, str]]) -> None:
    one, two, three = (enqueue().id for _ in range(3))
    services.cancel_job(one)
    assert services.cancel_jobs([two, three, uuid4()]) == 2
    assert told == [(one, "cancelled"), (two, "cancelled"), (three, "cancelled")]


def test_not_by_an_attempt_that_is_no_longer_its_own(told: list[tuple[UUID, str]]) -> None:
    enqueue()
    taken = take_one()
    services.cancel_job(taken.id)
    told.clear()
    finish(taken, result="{}")
    assert told == []


def test_what_a_receiver_raises_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(**_: Any) -> None:
        raise ZeroDivisionError

    enqueue()
    ended.connect(fail)
    try:
        assert finish(take_one(), result="{}").state == "succeeded"
    finally:
        ended.disconnect(fail)
    assert "ZeroDivisionError" in caplog.text


def test_many_jobs_are_described_at_once() -> None:
    ids = [enqueue(args={"claim": number}).id for number in range(2)]
    found = services.jobs_by_id([*ids, uuid4()])
    assert found == {job_id: services.job(job_id) for job_id in ids}
    Pool.objects.all().delete()
    assert services.jobs_by_id(ids) == {}
