"""The threads that run jobs."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection, connections
from msgspec import structs

from budget import services, tasks
from budget.jobs import attempts, crew
from budget.jobs.crew import Crew
from budget.services import TakenJob
from budget.tasks import Attempt, Task
from tests.jobs.queueing import enqueue, take
from tests.ledger.pools import make_classes, make_pool

HELD = "tests.held"


@pytest.fixture
def go_on(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
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
    assert crew.wait_until_idle(2)
    assert services.queues("claims")["rescore"].running == 0


def test_it_is_stuck_when_every_thread_hangs_in_an_attempt_past_its_lease(
    go_on: threading.Event,
) -> None:
    crew = Crew(2)
    first, second = taken(2)
    crew.start(structs.replace(first, lease_expires=first.lease_expires - timedelta(1)))
    assert not crew.stuck
    crew.start(second)
    assert not crew.stuck
    crew._running[1].lease_expires -= timedelta(1)
    assert crew.stuck
    go_on.set()
    assert crew.wait_until_idle(2)
    assert not crew.stuck


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
    assert own.wait_until_idle(2)
    assert left == [False]


def test_what_goes_wrong_beside_the_task_costs_no_thread(
    monkeypatch: pytest.MonkeyPatch, go_on: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    own = Crew(1)
    first, second = taken(2)
    report = attempts.report
    monkeypatch.setattr(attempts, "report", lambda ending: 1 / 0)
    go_on.set()
    own.start(first)
    assert own.wait_until_idle(2)
    assert "is left to its lease" in caplog.text
    monkeypatch.setattr(attempts, "report", report)
    own.start(second)
    assert own.wait_until_idle(2)
    assert services.job(second.id)["state"] == "succeeded"
