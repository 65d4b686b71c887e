"""What waits for a batch is counted without wading through all that wait."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from budget.jobs.batches.waiting import WAITING, groups
from budget.models import Job
from tests.jobs.bulk import ask, make_bulk_pool
from tests.jobs.test_queries import fill

DAYS = 2 * 86_400


@pytest.mark.parametrize("analyzed", [False, True])
def test_it_is_counted_by_an_index_and_only_so_many(analyzed: bool) -> None:
    pool = make_bulk_pool("", "openai", batch_max_requests=50)
    fill(pool.pk, "nightly", "succeeded", 3000, DAYS)
    fill(pool.pk, "nightly", "queued", 3000, DAYS + 1)
    wanted = {
        "pool": pool.pk,
        "classes": ["nightly", "weekly"],
        "latest": timezone.now() + timedelta(hours=24),
        "most": 50,
    }
    with connection.cursor() as cursor:
        if analyzed:
            cursor.execute("ANALYZE budget_job")
        cursor.execute(f"EXPLAIN ANALYZE {WAITING}", wanted)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "using budget_job_by_deadline" in plan, plan
    scanned = re.search(r"using budget_job_by_deadline.*?actual time=\S+ rows=(\d+)", plan)
    assert scanned is not None, plan
    assert int(scanned[1]) <= 50, plan
    (group,) = groups(pool, timezone.now())
    assert (group.model, group.jobs) == ("small", 50)


def test_the_most_urgent_are_counted_model_by_model() -> None:
    pool = make_bulk_pool("", "openai", batch_max_requests=3)
    ask(deadline_ms=25 * 3_600_000)
    ask(model="large", deadline_ms=26 * 3_600_000)
    ask(deadline_ms=27 * 3_600_000)
    ask(model="large", deadline_ms=28 * 3_600_000)
    ask(deadline_ms=23 * 3_600_000)
    large, small = groups(pool, timezone.now())
    assert (large.model, large.jobs, small.model, small.jobs) == ("large", 1, "small", 2)
    first = Job.objects.filter(model="small").order_by("deadline")[1]
    assert (small.soonest, small.oldest) == (first.deadline, first.enqueued_at)
    assert small.size == 2 * len(first.args)
