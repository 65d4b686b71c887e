"""The threads that run jobs."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo

import pytest
from django.db import connection, connections
from msgspec import structs

from budget import services, tasks
from budget.jobs import attempts, crew
from budget.jobs.crew import Crew
from budget.services import TakenJob
from budget.tasks import Attempt, Task
from tests.jobs.idling import wait_until_idle
from tests.jobs.queueing import enqueue, take
from tests.ledger.pools import make_classes, make_pool

HELD = "tests.held"


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    """What the jobs of the task `HELD` wait for."""
    event = threading.Event()
    tasks.register(Task(HELD, lambda attempt: event.wait(5)))
    yield event
    event.set()


def taken(count: int, task: str = HELD) -> list[TakenJob]:
    make_classes()
    make_pool()
    for _ in range(count):
        enqueue(task=task)
    return take(count).jobs


def test_only_as_many_are_free_as_run_none(go_on: threading.Event) -> None:
    crew = Crew(2)
    assert (crew.free, crew.idle) == (2, True)
    for job in taken(2):
        crew.start(job)
    assert (crew.free, crew.idle) == (0, False)
    assert not crew.wait_for_room(0.05)
    go_on.set()
    assert crew.wait_for_room(2)
    wait_until_idle(crew)
    assert services.queues("claims")["rescore"].running == 0


def expired(job: TakenJob, seconds: float) -> TakenJob:
    """The same, with a lease that was over so long ago."""
    return structs.replace(job, lease_expires=datetime.now(UTC) - timedelta(seconds=seconds))


def test_it_is_stuck_when_every_thread_hangs_in_an_attempt_long_past_its_lease(
    go_on: threading.Event,
) -> None:
    crew = Crew(2)
    first, second = taken(2)
    crew.start(expired(first, 61))
    assert not crew.stuck, "there is another thread"
    crew.start(expired(second, 61))
    assert crew.stuck
    go_on.set()
    wait_until_idle(crew)
    assert not crew.stuck


def test_an_attempt_a_moment_past_its_lease_may_still_end(go_on: threading.Event) -> None:
    crew = Crew(1)
    (job,) = taken(1)
    crew.start(expired(job, 55))
    assert not crew.stuck
    go_on.set()
    wait_until_idle(crew)
    assert services.job(job.id)["state"] == "succeeded"


def test_after_a_long_lease_it_may_take_as_long_again(
    go_on: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = 0.0

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + timedelta(seconds=later)

    monkeypatch.setattr(crew, "datetime", Clock)
    own = Crew(1)
    (job,) = taken(1)
    lease = (job.lease_expires - datetime.now(UTC)).total_seconds()
    assert lease < 3600
    own.start(structs.replace(job, lease_expires=job.lease_expires + timedelta(hours=1)))
    later = 2 * (lease + 3600) - 60
    assert not own.stuck
    later += 120
    assert own.stuck


def test_a_job_that_is_given_back_is_as_if_it_was_never_taken(go_on: threading.Event) -> None:
    crew = Crew(1)
    (job,) = taken(1)
    crew.give_back(job)
    wait_until_idle(crew)
    told = services.job(job.id)
    assert (told["state"], told["attempts"]) == ("queued", 0)
    assert [again.id for again in take(1).jobs] == [job.id]


def test_a_task_leaves_no_connection_open(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[bool] = []
    close = crew.close_old_connections

    def look(attempt: Attempt) -> None:
        connection.ensure_connection()

    def close_and_look() -> None:
        close()
        left.append(connections["default"].connection is not None)

    monkeypatch.setattr(crew, "close_old_connections", close_and_look)
    tasks.register(Task("tests.look", look))
    own = Crew(1)
    for job in taken(1, "tests.look"):
        own.start(job)
    wait_until_idle(own)
    # A crew of an earlier test may end its last thread meanwhile.
    assert left
    assert not any(left)


def test_what_goes_wrong_beside_the_task_costs_no_thread(
    monkeypatch: pytest.MonkeyPatch, go_on: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    own = Crew(1)
    first, second = taken(2)
    report = attempts.report
    monkeypatch.setattr(attempts, "report", lambda ending: 1 / 0)
    go_on.set()
    own.start(first)
    wait_until_idle(own)
    assert "is left to its lease" in caplog.text
    monkeypatch.setattr(attempts, "report", report)
    own.start(second)
    wait_until_idle(own)
    assert services.job(second.id)["state"] == "succeeded"
