"""Jobs on real clusters: how many a second, and what becomes of them under overload."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from statistics import median
from typing import NamedTuple

from django.db import connections
from django.db.models import F, QuerySet

from bench.queues import empty, enqueue
from bench.rounds import Tell
from budget import services
from budget.ledger.writers import stop_writers
from budget.models import Call, Job, Limit, Pool, WorkloadClass
from claims_demo.clusters import clusters

JOBS = 3_000
READY_SECONDS = 30.0
STORM = "storm"
DEADLINE_SECONDS = 15
STORM_SECONDS = 60
CAPACITY = 20
"""Jobs a second that the pool allows in the overload; three times as many are offered."""
OFFERED = 3 * CAPACITY
WORK_SECONDS = 0.2
OVERLOADED = "overloaded"


class Overload(NamedTuple):
    """What came of one run at three times the capacity."""

    late: int
    """Jobs begun past their deadline."""
    in_time: float
    """Results in time, as a part of the calls that the pool allowed."""
    wait: float
    """Median seconds from enqueueing to start, of jobs done in time."""


def measure(rounds: int, tell: Tell) -> dict[str, float]:
    """Jobs per second end to end, and the overload with the newest and the oldest first."""
    rates = []
    for number in range(1, rounds + 1):
        rates.append(_jobs_per_second())
        tell(f"jobs_per_s: round {number} of {rounds}: {rates[-1]:.0f}")
    newest, oldest = _overload(), _overload(NEWEST_FIRST_AFTER="1")
    tell(f"newest first when deep: {newest}")
    tell(f"always the oldest first: {oldest}")
    return {
        "jobs_per_s": median(rates),
        "overload_late_jobs": newest.late,
        "overload_in_time": newest.in_time,
        "overload_wait_s": newest.wait,
        "overload_wait_over_fifo": newest.wait / oldest.wait,
    }


def _jobs_per_second() -> float:
    """From the first enqueued to the last done, by the bulk cluster's two workers."""
    with _running():
        began = time.perf_counter()
        for _ in range(JOBS):
            enqueue()
        while Job.objects.exclude(state="succeeded").exists():
            time.sleep(0.02)
        return JOBS / (time.perf_counter() - began)


def _overload(**environment: str) -> Overload:
    with _running(**environment):
        _allow_little()
        began = time.monotonic()
        sent = 0
        while (elapsed := time.monotonic() - began) < STORM_SECONDS:
            while sent < elapsed * OFFERED:
                _send()
                sent += 1
            time.sleep(0.01)
        time.sleep(DEADLINE_SECONDS + 2)
    stop_writers()
    jobs = Job.objects.filter(workload_class=STORM)
    allowed = CAPACITY * STORM_SECONDS
    done = jobs.filter(state="succeeded", finished_at__lte=F("deadline"))
    in_storm = done.filter(started_at__lte=_first(jobs) + timedelta(seconds=STORM_SECONDS))
    waits = [w.total_seconds() for w in _waits(done)]
    late = Call.objects.filter(job_id__isnull=False, offered_at__gt=F("deadline")).count()
    return Overload(late, in_storm.count() / allowed, median(waits))


def _send() -> None:
    services.enqueue(
        OVERLOADED,
        STORM,
        "bench.tasks.wait",
        {"seconds": WORK_SECONDS},
        input_tokens=1,
        output_tokens=0,
    )


def _waits(jobs: QuerySet[Job]) -> Iterator[timedelta]:
    for enqueued, started in jobs.values_list("enqueued_at", "started_at"):
        yield started - enqueued


def _first(jobs: QuerySet[Job]) -> datetime:
    return jobs.order_by("enqueued_at").values_list("enqueued_at", flat=True)[0]


def _allow_little() -> None:
    """A pool that allows `CAPACITY` jobs a second, at once no more than a second's worth."""
    pool, _ = Pool.objects.get_or_create(slug=OVERLOADED, defaults={"provider": "openai"})
    WorkloadClass.objects.get_or_create(
        slug=STORM, defaults={"tier": "near_line", "deadline_seconds": DEADLINE_SECONDS}
    )
    Limit.objects.get_or_create(
        pool=pool,
        unit="requests",
        algorithm="token_bucket",
        defaults={"amount": 60 * CAPACITY, "burst_percent": Decimal("1.67")},
    )


@contextmanager
def _running(**settings: str) -> Iterator[None]:
    """The clusters, once they work, with those settings of the bench."""
    empty()
    connections.close_all()
    os.environ.update(settings)
    try:
        with clusters():
            _await_workers()
            yield
    finally:
        for name in settings:
            del os.environ[name]


def _await_workers() -> None:
    """Until a job of each tier was done."""
    probes = [enqueue("rescore"), enqueue("nightly")]
    until = time.monotonic() + READY_SECONDS
    while Job.objects.filter(id__in=[p.id for p in probes]).exclude(state="succeeded").exists():
        if time.monotonic() > until:
            raise RuntimeError("The clusters don't work: their logs say why.")
        time.sleep(0.1)
