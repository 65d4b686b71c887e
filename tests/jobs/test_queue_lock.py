"""The lock that a killed reader takes along."""

import multiprocessing
import os
import signal
import threading
from typing import Any

import pytest
from django_q.queues import Queue

from budget.jobs import queue_lock
from budget.jobs.queue_lock import PATIENCE, QueueLock
from tests.jobs.idling import wait_until

FORK = multiprocessing.get_context("fork")


@pytest.fixture(autouse=True)
def _each_check_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_lock, "LOOK_SECONDS", 0)


def test_the_lock_of_a_reader_that_was_killed_is_released() -> None:
    queue: Any = Queue(2)
    reader = FORK.Process(target=queue.get)
    reader.start()
    wait_until(lambda: not is_free(queue))
    os.kill(reader.pid or 0, signal.SIGKILL)
    reader.join()
    lock = QueueLock(queue, "a ticket")
    lock.check()
    queue.put("ticket")
    wait_until(queue._reader.poll)
    for _ in range(PATIENCE - 1):
        lock.check()
    assert not queue._rlock.acquire(block=False)
    lock.check()
    assert queue.get(timeout=1) == "ticket"


def test_the_lock_of_a_reader_that_waits_or_of_nobody_is_left_alone() -> None:
    queue: Any = Queue(2)
    lock = QueueLock(queue, "a ticket")
    queue.put("ticket")
    wait_until(queue._reader.poll)
    for _ in range(2 * PATIENCE):
        lock.check()
    assert queue.get(timeout=1) == "ticket"
    reader = threading.Thread(target=queue.get)
    reader.start()
    wait_until(lambda: not is_free(queue))
    for _ in range(2 * PATIENCE):
        lock.check()
    assert not queue._rlock.acquire(block=False)
    queue.put("ticket")
    reader.join()


def test_it_looks_no_more_often_than_it_should(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_lock, "LOOK_SECONDS", 60)
    queue: Any = Queue(2)
    lock = QueueLock(queue, "a ticket")
    queue._rlock.acquire()
    queue.put("ticket")
    wait_until(queue._reader.poll)
    for _ in range(2 * PATIENCE):
        lock.check()
    assert not queue._rlock.acquire(block=False)


def is_free(queue: Any) -> bool:
    """Whether nobody reads a queue."""
    free = queue._rlock.acquire(block=False)
    if free:
        queue._rlock.release()
    return bool(free)
