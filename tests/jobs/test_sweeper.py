"""The thread in each worker that finds what tickets miss, and the lock it frees."""

import multiprocessing
import os
import signal
import threading
import time
from typing import Any

import pytest
from django.db import OperationalError
from django_q.models import OrmQ
from django_q.queues import Queue

from budget.jobs import batch_tender, sweeper
from budget.jobs.batch_tender import BatchTender
from budget.jobs.queue_lock import PATIENCE, QueueLock
from budget.jobs.sweeper import Sweeper
from tests.jobs.queueing import enqueue, take
from tests.ledger.pools import make_classes, make_pool

FORK = multiprocessing.get_context("fork")


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

    class Ended(BaseException):
        """Ends the sweeper, which nothing else does."""

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


def test_batches_are_tended_by_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = [], threading.Event()

    def work(seconds: float) -> None:
        begun.append(seconds)
        go_on.wait(5)
        raise ValueError("odd")

    monkeypatch.setattr(batch_tender.batches, "due", lambda now: True)
    monkeypatch.setattr(batch_tender.batches, "work", work)
    tender = BatchTender()
    tender.tend()
    tender.tend()
    assert begun == [batch_tender.WORK_SECONDS]
    go_on.set()
    _wait_for_thread(tender)
    tender.tend()
    _wait_for_thread(tender)
    assert len(begun) == 2


def test_the_lock_of_a_reader_that_was_killed_is_released() -> None:
    queue: Any = Queue(2)
    reader = FORK.Process(target=queue.get)
    reader.start()
    time.sleep(0.3)
    os.kill(reader.pid or 0, signal.SIGKILL)
    reader.join()
    lock = QueueLock(queue)
    lock.check()
    queue.put("ticket")
    time.sleep(0.1)
    for _ in range(PATIENCE - 1):
        lock.check()
    assert not queue._rlock.acquire(block=False)
    lock.check()
    assert queue.get(timeout=1) == "ticket"


def test_the_lock_of_a_reader_that_waits_or_of_nobody_is_left_alone() -> None:
    queue: Any = Queue(2)
    lock = QueueLock(queue)
    queue.put("ticket")
    time.sleep(0.1)
    for _ in range(2 * PATIENCE):
        lock.check()
    assert queue.get(timeout=1) == "ticket"
    reader = threading.Thread(target=queue.get)
    reader.start()
    for _ in range(2 * PATIENCE):
        lock.check()
    assert not queue._rlock.acquire(block=False)
    queue.put("ticket")
    reader.join()
    QueueLock.of_worker().check()


def _wait_for_thread(tender: BatchTender) -> None:
    assert tender._thread is not None
    tender._thread.join(5)
