"""Tickets, run here as a worker's main thread runs them, and who issues them."""

import threading
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection, connections, transaction
from django.utils import timezone
from django_q.models import OrmQ

from budget import services, tasks
from budget.jobs import attempts, doorbell, stopping, tickets
from budget.jobs.crew import crew
from budget.models import Job, WorkloadClass
from budget.services import LedgerUnavailable
from budget.tasks import Attempt, Task
from tests.jobs.idling import wait_until, wait_until_idle
from tests.jobs.queueing import enqueue
from tests.ledger.pools import make_classes, make_pool

NOTED = "tests.noted"
LONG = 30.0
"""A ticket's time; one that has ended long before it has ended by itself."""


@pytest.fixture(autouse=True)
def _pool(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doorbell, "_looked", {})
    settings.BUDGET_TICKET_SECONDS = LONG
    make_classes()
    make_pool()


@pytest.fixture
def noted() -> list[Attempt]:
    """The attempts of jobs of the task `NOTED`."""
    found: list[Attempt] = []

    def note(attempt: Attempt, seconds: float = 0.0) -> None:
        found.append(attempt)
        attempt.wait_until_cancelled(seconds)

    tasks.register(Task(NOTED, note))
    return found


def waiting() -> list[str]:
    """The clusters whose tickets wait."""
    return sorted(OrmQ.objects.values_list("key", flat=True))


def run(*tiers: Any) -> float:
    """Run a ticket and what it started; how long the ticket took."""
    began = time.monotonic()
    tickets.run(*tiers)
    took = time.monotonic() - began
    wait_until_idle(crew())
    return took


def run_and_close() -> None:
    """Run a ticket in a thread of its own."""
    tickets.run("near_line")
    connections.close_all()


def test_a_ticket_runs_what_waits_and_ends_when_nothing_does(noted: list[Attempt]) -> None:
    for _ in range(20):
        enqueue(task=NOTED, tokens=100)
    assert run("near_line") < LONG / 2
    assert len(noted) == 20
    assert set(Job.objects.values_list("state", flat=True)) == {"succeeded"}
    noted.clear()
    assert run("near_line") < LONG / 2
    assert noted == []


def test_a_ticket_leaves_other_tiers_alone(noted: list[Attempt]) -> None:
    enqueue("nightly", task=NOTED)
    run("near_line")
    assert noted == []
    run("bulk")
    assert len(noted) == 1


def test_no_more_run_at_once_than_there_are_threads(noted: list[Attempt]) -> None:
    for _ in range(12):
        enqueue(task=NOTED, tokens=100, args={"seconds": LONG})
    thread = threading.Thread(target=run_and_close)
    thread.start()
    wait_until(lambda: len(noted) == crew().size)
    assert services.queues("claims")["rescore"].running == crew().size == 8
    for attempt in noted[:4]:
        attempt.cancel()
    wait_until(lambda: len(noted) == 12)
    assert services.queues("claims")["rescore"].running == 8
    for attempt in noted:
        attempt.cancel()
    thread.join()
    wait_until_idle(crew())


def test_pools_take_turns(noted: list[Attempt]) -> None:
    make_pool(slug="other")
    for pool in ("claims", "other"):
        for _ in range(8):
            services.enqueue(pool, "rescore", NOTED, input_tokens=9, output_tokens=0)
    run("near_line")
    assert {attempt.pool for attempt in noted[:8]} == {"claims", "other"}
    assert len(noted) == 16


def test_when_its_time_is_up_a_ticket_leaves_its_jobs_running_and_has_a_successor(
    noted: list[Attempt], settings: Any
) -> None:
    settings.BUDGET_TICKET_SECONDS = 2.0
    for _ in range(9):
        enqueue(task=NOTED, tokens=100, args={"seconds": LONG})
    OrmQ.objects.all().delete()
    tickets.run("near_line")
    assert services.queues("claims")["rescore"].running == 8
    assert waiting() == ["near_line"]
    services.cancel_jobs(Job.objects.filter(state="queued").values_list("pk", flat=True))
    for attempt in noted:
        attempt.cancel()
    wait_until_idle(crew())


def test_a_ticket_waits_for_what_may_run_within_its_time(noted: list[Attempt]) -> None:
    enqueue(task=NOTED)
    WorkloadClass.objects.update(paused=True)
    assert run("near_line") < LONG / 2
    assert noted == []
    WorkloadClass.objects.update(paused=False)
    ready_at = timezone.now() + timedelta(seconds=1)
    Job.objects.update(not_before=ready_at)
    assert run("near_line") < LONG / 2
    assert len(noted) == 1
    assert Job.objects.get().started_at >= ready_at


def test_a_taking_that_brings_nothing_is_not_repeated_in_a_hot_loop(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.BUDGET_TICKET_SECONDS = 1.0
    asked = []
    monkeypatch.setattr(services, "due", lambda tiers: {1: 0.0})
    monkeypatch.setattr(
        services, "take", lambda *wanted: asked.append(wanted) or services.Taken(jobs=[], due=None)
    )
    run("near_line")
    assert 2 <= len(asked) < 12


def test_a_job_cancelled_as_it_is_taken_does_not_start(
    noted: list[Attempt], monkeypatch: pytest.MonkeyPatch
) -> None:
    take = services.take

    def take_and_cancel(*wanted: Any) -> services.Taken:
        taken = take(*wanted)
        for job in taken.jobs:
            services.cancel_job(job.id)
        return taken

    monkeypatch.setattr(services, "take", take_and_cancel)
    place = enqueue(task=NOTED)
    run("near_line")
    assert noted == []
    assert services.job(place.id)["state"] == "cancelled"
    assert services.pool_view("claims")["limits"][0]["available"] == 60_000


def test_jobs_that_were_taken_in_vain_go_back_uncounted(
    noted: list[Attempt], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The database goes away between the taking, which has committed, and what follows it."""
    WorkloadClass.objects.update(max_attempts=1)
    ids = [enqueue(task=NOTED, tokens=100).id for _ in range(8)]

    def away(job_ids: Any) -> Any:
        raise OperationalError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(attempts, "running_calls", away)
        assert run("near_line") < LONG / 2
    assert "A ticket ended early, its jobs go on: gone" in caplog.text
    assert noted == []
    assert {services.job(job_id)["state"] for job_id in ids} == {"queued"}
    assert set(Job.objects.values_list("attempts", flat=True)) == {0}
    run("near_line")
    assert {services.job(job_id)["state"] for job_id in ids} == {"succeeded"}


def test_giving_back_while_the_ledger_is_away_keeps_no_ticket(
    noted: list[Attempt], monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """Eight reports of up to a minute each, one after the other, would end in django-q's kill."""
    settings.BUDGET_TICKET_SECONDS = 1.0
    for _ in range(8):
        enqueue(task=NOTED, tokens=100)
    finish, back = services.finish, threading.Event()

    def finish_later(ending: Any) -> Any:
        if not back.is_set():
            raise LedgerUnavailable("away")
        return finish(ending)

    with monkeypatch.context() as patch:
        patch.setattr(services, "finish", finish_later)
        patch.setattr(attempts, "running_calls", lambda job_ids: set())
        began = time.monotonic()
        tickets.run("near_line")
        assert time.monotonic() - began < LONG / 2
        assert crew().free == 0
        back.set()
        wait_until_idle(crew())
    assert noted == []
    assert set(Job.objects.values_list("state", "attempts")) == {("queued", 0)}


def test_a_running_job_is_told_that_it_was_cancelled(noted: list[Attempt]) -> None:
    place = enqueue(task=NOTED, args={"seconds": LONG})
    enqueue(task=NOTED, args={"seconds": LONG})
    thread = threading.Thread(target=run_and_close)
    thread.start()
    wait_until(lambda: len(noted) == 2)
    services.cancel_job(place.id)
    crew().watch()
    assert [attempt.job_id for attempt in noted if attempt.is_cancelled] == [place.id]
    for attempt in noted:
        attempt.cancel()
    thread.join()
    wait_until_idle(crew())


def test_a_cluster_that_stops_starts_nothing_and_leaves_a_ticket_to_others(
    noted: list[Attempt], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tickets, "is_stopping", lambda: True)
    enqueue(task=NOTED)
    OrmQ.objects.all().delete()
    assert run("near_line") < LONG / 2
    assert noted == []
    assert waiting() == ["near_line"]
    assert not stopping.is_stopping()


@pytest.mark.parametrize("error", [LedgerUnavailable("away"), OperationalError("away")])
def test_a_database_that_is_away_ends_a_ticket_in_words(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(tiers: Any) -> Any:
        raise error

    monkeypatch.setattr(services, "due", away)
    run("near_line")
    assert "A ticket ended early, its jobs go on: away" in caplog.text


def test_enqueueing_issues_one_ticket_to_the_tiers_cluster() -> None:
    enqueue("nightly")
    assert waiting() == ["bulk"]
    enqueue("rescore")
    enqueue("rescore")
    assert waiting() == ["bulk", "near_line"]


def test_a_cluster_with_both_tiers_gets_one_ticket_for_both(settings: Any) -> None:
    settings.BUDGET_CLUSTERS = {"bulk": ("near_line", "bulk")}
    enqueue("nightly")
    enqueue("rescore")
    (ticket,) = OrmQ.objects.all()
    assert (ticket.key, ticket.task["args"]) == ("bulk", ("near_line", "bulk"))


def test_another_is_issued_only_once_none_waits_and_a_fetched_one_may_be_lost() -> None:
    tickets.issue(["near_line"])
    tickets.issue(["near_line"])
    assert waiting() == ["near_line"]
    OrmQ.objects.update(lock=timezone.now() + timedelta(hours=1))
    tickets.issue(["near_line"])
    assert waiting() == ["near_line", "near_line"]


def test_in_a_transaction_the_ticket_waits_for_its_end_and_the_job_does_not() -> None:
    with transaction.atomic():
        enqueue()
        assert waiting() == []
    assert waiting() == ["near_line"]
    OrmQ.objects.all().delete()
    doorbell._looked.clear()
    with transaction.atomic():
        enqueue()
        transaction.set_rollback(True)
    assert waiting() == []
    assert Job.objects.count() == 2


@pytest.mark.parametrize("error", [OperationalError("no table"), RuntimeError("no table")])
def test_a_ticket_that_cannot_be_issued_fails_neither_enqueueing_nor_transaction(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(tiers: Any) -> None:
        raise error

    monkeypatch.setattr(doorbell, "issue", fail)
    assert enqueue().state == "queued"
    doorbell._looked.clear()
    with transaction.atomic():
        assert enqueue().state == "queued"
    assert caplog.text.count("no table") >= 2


def test_a_connection_that_died_unnoticed_costs_no_ticket(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection.ensure_connection()
    with suppress(psycopg.OperationalError):
        connection.connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    doorbell.ring(None, "rescore")
    assert caplog.text == ""
    assert waiting() == ["near_line"]


def test_the_callers_connection_stays_as_it_is() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET application_name = 'mine'")
    for _ in WorkloadClass.objects.order_by("slug").iterator(chunk_size=1):
        doorbell._looked.clear()
        enqueue()
    with transaction.atomic():
        doorbell._looked.clear()
        enqueue()
    with connection.cursor() as cursor:
        cursor.execute("SHOW application_name")
        assert cursor.fetchone() == ("mine",)
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",)


def test_a_locked_table_of_tickets_holds_the_caller_up_for_a_moment_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    params = connection.get_connection_params()
    with psycopg.connect(**{**params, "cursor_factory": psycopg.Cursor}) as other:
        other.execute("LOCK TABLE django_q_ormq IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        assert enqueue().state == "queued"
        assert time.monotonic() - began < 10
    assert "a sweeper will" in caplog.text
