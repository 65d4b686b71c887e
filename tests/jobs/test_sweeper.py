"""The thread in each worker that finds what tickets miss."""

import multiprocessing
import signal
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django_q.models import OrmQ
from msgspec import structs

from budget import tasks
from budget.jobs import sweeper
from budget.jobs.batch_tender import BatchTender
from budget.jobs.batches import hold, runner
from budget.jobs.crew import Crew
from budget.jobs.sweeper import Sweeper
from budget.tasks import Task
from tests.jobs.bulk import ask, make_bulk_pool, states
from tests.jobs.provider import Provider
from tests.jobs.queueing import enqueue, take
from tests.ledger.pools import make_classes, make_pool


class Ended(BaseException):
    """Ends the sweeper, which nothing else does."""


@pytest.fixture
def _jobs() -> None:
    make_classes()
    make_pool()


@pytest.mark.usefixtures("_jobs")
def test_a_ticket_is_issued_when_a_job_is_due_and_only_then() -> None:
    take()
    Sweeper(["near_line"]).sweep()
    assert not OrmQ.objects.exists()
    enqueue()
    OrmQ.objects.all().delete()
    Sweeper(["bulk"]).sweep()
    assert not OrmQ.objects.exists()
    Sweeper(["near_line"]).sweep()
    Sweeper(["near_line"]).sweep()
    assert OrmQ.objects.get().key == "near_line"


def test_an_outage_of_the_database_is_told_once_and_outlived(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sweeper, "SWEEP_SECONDS", 0.001)
    swept = []

    def sweep(self: Sweeper) -> None:
        swept.append(1)
        if len(swept) > 6:
            raise Ended
        raise ValueError("odd") if len(swept) == 5 else OperationalError("away")

    monkeypatch.setattr(Sweeper, "sweep", sweep)
    with pytest.raises(Ended):
        Sweeper(["near_line"]).run()
    assert caplog.text.count("goes on when the database answers: away") == 1
    assert caplog.text.count("ValueError: odd") == 1


def test_batches_are_tended_by_one_thread_at_a_time(provider: Provider) -> None:
    make_bulk_pool(provider, "openai")
    provider.pause_at = "POST /v1/files"
    job_id = ask()
    tender = BatchTender()
    tender.tend()
    assert provider.paused.wait(20)
    ask(model="large")
    tender.tend()
    assert [thread.name for thread in threading.enumerate()].count("budget-batches") == 1
    provider.pause_at = ""
    provider.go_on.set()
    _wait_for_thread(tender)
    assert states(job_id) == ["running"]


def test_what_goes_wrong_with_batches_is_told_and_gone_on_with(
    provider: Provider, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bulk_pool(provider, "openai")
    job_id = ask()
    with monkeypatch.context() as patch:
        patch.setattr(hold, "take", lambda: 1 / 0)
        _tend_once()
    assert "ZeroDivisionError" in caplog.text
    _tend_once()
    assert states(job_id) == ["running"]


def test_nobody_looks_again_before_many_times_as_long_as_it_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = []

    def look(now: Any) -> bool:
        looked.append(now)
        time.sleep(0.5)
        return False

    monkeypatch.setattr(runner, "due", look)
    tender = BatchTender()
    tender.tend()
    tender.tend()
    assert len(looked) == 1


def test_what_goes_wrong_beside_the_sweep_keeps_it_from_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sweeper, "SWEEP_SECONDS", 0.001)
    swept = []

    def sweep(self: Sweeper) -> None:
        swept.append(1)
        if len(swept) > 3:
            raise Ended

    monkeypatch.setattr(sweeper, "crew", lambda: 1 / 0)
    monkeypatch.setattr(Sweeper, "sweep", sweep)
    with pytest.raises(Ended):
        Sweeper(["near_line"]).run()
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.usefixtures("_jobs")
def test_a_worker_that_only_waits_for_an_attempt_that_hangs_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweeper, "SWEEP_SECONDS", 0.01)
    monkeypatch.setattr(Sweeper, "sweep", lambda self: None)
    own = Crew(2)
    monkeypatch.setattr(sweeper, "crew", lambda: own)
    tasks.register(Task("tests.hang", lambda attempt: time.sleep(60)))
    enqueue(task="tests.hang")
    (job,) = take().jobs
    hopeless = structs.replace(job, lease_expires=datetime.now(UTC) - timedelta(seconds=61))

    def work() -> None:
        own.start(hopeless)
        threading.Thread(target=Sweeper(["near_line"]).run, daemon=True).start()

    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()
    worker.join(20)
    assert worker.exitcode == -signal.SIGKILL


def _tend_once() -> None:
    tender = BatchTender()
    tender.tend()
    _wait_for_thread(tender)


def _wait_for_thread(tender: BatchTender) -> None:
    assert tender._thread is not None
    tender._thread.join(20)
