"""Queues without workers: how fast they fill, and how fast what is too late leaves them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from django.db import connection

from bench.callers import Admit, admissions_per_second
from bench.naive import POOL
from bench.rounds import Tell, in_turn, medians
from budget import services
from budget.ledger.writers import stop_writers
from budget.models import Job, Pool

CALLERS = 32
STALE = 100_000
LIVE = 100
CLASS = "nightly"

# Jobs whose deadline has passed, enqueued an hour ago, as if their workers had been away.
STORE_STALE = """
INSERT INTO budget_job (
    id, pool_id, workload_class, key_prefix, fingerprint, task, args, batchable, model,
    input_tokens, output_tokens, source, tags, enqueued_at, deadline, state, attempts, error, trail
)
SELECT gen_random_uuid(), %s, %s, '', '', 'bench.tasks.nothing', '{}', false, '', 800, 200, '',
    '{}', now() - interval '1 hour', now() - n * interval '1 millisecond', 'queued', 0, '', '[]'
FROM generate_series(1, %s) AS n
"""


def measure(seconds: float, rounds: int, tell: Tell) -> dict[str, float]:
    """Jobs enqueued per second by many callers, and seconds until 100,000 late ones are gone."""
    contenders = {"enqueue_per_s": partial(_enqueued_per_second, seconds)}
    figures = medians(in_turn(contenders, rounds, tell))
    return figures | _expire(tell)


def _enqueued_per_second(seconds: float) -> float:
    empty()
    return admissions_per_second(_enqueue_line, CALLERS, seconds)


@contextmanager
def _enqueue_line() -> Iterator[Admit]:
    yield enqueue


def enqueue(workload_class: str = CLASS) -> services.Enqueued:
    """One job that does nothing."""
    return services.enqueue(
        POOL, workload_class, "bench.tasks.nothing", input_tokens=800, output_tokens=200
    )


def _expire(tell: Tell) -> dict[str, float]:
    """Take live jobs as a worker does, until nothing late is left."""
    empty()
    pool_id = Pool.objects.get(slug=POOL).pk
    with connection.cursor() as cursor:
        cursor.execute(STORE_STALE, [pool_id, CLASS, STALE])
        cursor.execute("ANALYZE budget_job")
    for _ in range(LIVE):
        enqueue()
    began, waits, taken = time.perf_counter(), [], 0
    while True:
        asked = time.perf_counter()
        taken += len(services.take(pool_id, ["bulk"], 1).jobs)
        waits.append(time.perf_counter() - asked)
        if not Job.objects.filter(state="queued").exists():
            break
    took = time.perf_counter() - began
    expired = Job.objects.filter(state="expired").count()
    if (taken, expired) != (LIVE, STALE):
        raise RuntimeError(f"{taken} of {LIVE} live jobs taken, {expired} of {STALE} expired.")
    tell(f"expired {STALE:,} jobs in {took:.2f} s; the slowest taking {max(waits):.3f} s")
    empty()
    return {"expire_100k_s": took, "expire_slowest_take_ms": 1000 * max(waits)}


def empty() -> None:
    """No jobs, and balances that know it."""
    stop_writers()
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE budget_job, budget_call, budget_poolstate")
