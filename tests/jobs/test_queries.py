"""Whatever the tables hold, each statement about jobs finds its rows by an index meant for it."""

import json
import re
import time
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from budget.jobs.batches import waiting
from budget.ledger import job_queries
from budget.ledger.connection import connect
from budget.models import Job
from tests.jobs.accounts import check_queues
from tests.jobs.queueing import enqueue, take
from tests.ledger.pools import make_classes, make_pool

FILL = """
INSERT INTO budget_job (
    id, pool_id, workload_class, key_prefix, idempotency_key, fingerprint, task, args,
    batchable, model, input_tokens, output_tokens, source, tags, enqueued_at, deadline, state,
    not_before, attempts, error, trail, taking_id
)
SELECT gen_random_uuid(), %(pool)s, %(slug)s, 'k', CASE WHEN n %% 5 = 0 THEN %(state)s || n END,
    '', 'tests.echo', '{}', n %% 3 = 0, CASE WHEN n %% 3 = 0 THEN 'small' ELSE '' END, 10, 0, '',
    '{}', now() - n * interval '1 ms', now() + %(seconds)s * interval '1 s' + n * interval '1 ms',
    %(state)s, CASE WHEN %(state)s = 'queued' AND n %% 1000 = 7 THEN now() + interval '1 h' END,
    0, '', '[]', CASE WHEN %(state)s = 'running' THEN gen_random_uuid() END
FROM generate_series(1, %(jobs)s) AS n
"""
ORDINARY = {"rescore": 300, "nightly": 20_000}
IDS = [uuid4(), uuid4()]
KEYS = json.dumps([{"key_prefix": "k", "idempotency_key": "queued5"}])
ALLOWED = {
    "JOBS_BY_ID": {"job_pkey"},
    "JOBS_BY_KEY": {"one_job_per_key"},
    "JOBS_BY_TAKING": {"job_running"},
    "COUNT_QUEUES": {"job_by_age", "job_by_deadline", "job_resting", "job_running"},
    "WAKE": {"job_resting", "job_pkey"},
    "EXPIRE": {"job_by_deadline", "job_pkey"},
    "WAITED": {"job_by_age", "job_by_deadline"},
    "BY_DEADLINE": {"job_by_deadline"},
    "NEWEST_FIRST": {"job_by_age"},
    "NEXT_READY": {"job_by_deadline", "job_resting"},
    "COLLECTABLE": {"job_by_deadline"},
    "FORGET_JOB_KEYS": {"job_pkey"},
    "WAITING": {"job_by_deadline"},
}
"""By statement: the indexes that are meant for it."""
STATEMENTS = {**vars(job_queries), **vars(waiting)}


def params(statement: str) -> Any:
    """What a statement may be asked with."""
    now = int(time.time() * 1_000_000)
    own = {
        "JOBS_BY_ID": (IDS, 1),
        "JOBS_BY_KEY": (KEYS, 1),
        "JOBS_BY_TAKING": (IDS, 1),
        "FORGET_JOB_KEYS": (IDS,),
        "WAITING": {"pool": 1, "classes": [*ORDINARY], "latest": timezone.now(), "most": 10},
    }
    return own.get(statement) or {
        "pool": 1,
        "now": now,
        "classes": json.dumps([{"slug": slug, "cutoff": now} for slug in ORDINARY]),
        "most": 10,
        "known": [],
        "error": "",
        "steps": "[]",
        "slug": "rescore",
        "batchable": False,
        "cutoff": now,
        "alone_from": 2,
        "horizon": now + 3_600_000_000,
        "window": 3_600_000_000,
        "model": "small",
    }


def fill(pool_id: int, slug: str, state: str, jobs: int, seconds: int) -> None:
    """So many jobs, the first with a deadline in so many seconds."""
    values = {"pool": pool_id, "slug": slug, "state": state, "jobs": jobs, "seconds": seconds}
    with connection.cursor() as cursor:
        cursor.execute(FILL.replace("'k'", f"'{slug}{seconds}'"), values)


@pytest.mark.parametrize("analyzed", [False, True])
def test_no_statement_wades_through_jobs(analyzed: bool) -> None:
    for slug, seconds in ORDINARY.items():
        fill(1, slug, "succeeded", 6000, -9000)
        fill(1, slug, "queued", 3000, seconds)
        fill(1, slug, "running", 100, seconds + 1)
    if analyzed:
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE budget_job")
    with connect() as ledger:
        for name, allowed in ALLOWED.items():
            rows = ledger.execute(f"EXPLAIN {STATEMENTS[name]}", params(name)).fetchall()
            plan = "\n".join(line for (line,) in rows)
            used = set(re.findall(r"using budget_(\w+)|on budget_(\w+_pkey)", plan))
            assert {one or other for one, other in used} <= allowed, f"{name}\n{plan}"
            assert "Seq Scan on budget_job" not in plan, f"{name}\n{plan}"
            if name in ("BY_DEADLINE", "NEWEST_FIRST"):
                assert "Sort" not in plan, f"{name}\n{plan}"


def test_live_jobs_are_taken_at_once_among_thousands_of_stale_ones() -> None:
    make_classes()
    pool = make_pool()
    fill(pool.pk, "rescore", "queued", 6000, -3000)
    live = {enqueue(tokens=10).id for _ in range(3)}
    first = take(5)
    assert {job.id for job in first.jobs} == live
    assert Job.objects.filter(state="queued").count() > 1000
    taken = first
    while Job.objects.filter(state="queued", not_before=None).exists():
        taken = take(5)
        assert taken.jobs == []
    check_queues(pool)
    assert Job.objects.filter(state="expired").count() == 6000 - 6
    assert taken.due is not None
