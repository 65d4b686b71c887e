"""What the clusters of tests run. Each run leaves a line in a file, also if it is killed."""

import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

from django.conf import settings
from django.dispatch import receiver
from django_q.signals import post_execute_in_worker

from budget.jobs import cluster
from budget.tasks import Attempt, TryAgain, task


def runs(record: Path) -> Counter[str]:
    """How often each job was begun."""
    return Counter(line.split()[0] for line in _lines(record))


def pids(record: Path) -> set[int]:
    """The processes that ran any."""
    return {int(line.split()[1]) for line in _lines(record)}


def moments(record: Path) -> list[float]:
    """When they were begun."""
    return [float(line.split()[2]) for line in _lines(record)]


@task
def work(attempt: Attempt, record: str, seconds: float = 0.0, spend: int = 500) -> dict[str, Any]:
    """Take so long, and use so many tokens."""
    _note(attempt, record)
    time.sleep(seconds)
    attempt.used(spend, 0)
    return {"pid": os.getpid()}


@task
def outlast(attempt: Attempt, record: str) -> str:
    """Go on until somebody cancels the job, or for a minute."""
    _note(attempt, record)
    return "cancelled" if attempt.wait_until_cancelled(60) else "never told"


@task
def meet(attempt: Attempt, record: str, processes: int) -> None:
    """Go on until so many processes run jobs, or for half a minute."""
    _note(attempt, record)
    until = time.monotonic() + 30
    while len(pids(Path(record))) < processes and time.monotonic() < until:
        time.sleep(0.05)
    attempt.used(500, 0)


@task
def hang_once(attempt: Attempt, record: str) -> None:
    """Take a minute at the first attempt, and no time at the next."""
    _note(attempt, record)
    if attempt.number == 1:
        time.sleep(60)


@task
def die(attempt: Attempt, record: str) -> None:
    """Take the worker along."""
    _note(attempt, record)
    os.kill(os.getpid(), 9)


@task
def sent_away(attempt: Attempt, record: str) -> None:
    """Meet a provider that is busy."""
    _note(attempt, record)
    raise TryAgain("busy")


cluster.PATIENCE = getattr(settings, "CLUSTER_PATIENCE", cluster.PATIENCE)


@receiver(post_execute_in_worker)
def _die_at_a_tickets_end(sender: Any, **_: Any) -> None:
    """Take the worker along as django-q holds the lock of its timer, if the test says so."""
    deadly = Path(getattr(settings, "DEADLY_END", ""))
    if deadly.is_file():
        deadly.unlink()
        os.kill(os.getpid(), 9)


def _note(attempt: Attempt, record: str) -> None:
    with open(record, "a") as file:
        file.write(f"{attempt.job_id} {os.getpid()} {time.time()}\n")


def _lines(record: Path) -> list[str]:
    return record.read_text().splitlines() if record.exists() else []
