"""Bulk jobs on a batch endpoint, from their collection to their results."""

from datetime import timedelta

import pytest
from django.utils import timezone

from budget import services
from budget.jobs.batches import runner
from budget.ledger.ids import pool_of
from budget.models import Call, Job, JobBatch, Pool, WorkloadClass
from tests.jobs.bulk import ask, enqueued_tokens, make_bulk_pool, states, work, work_until_closed
from tests.jobs.provider import Provider
from tests.jobs.queueing import take
from tests.ledger.pools import available


def test_a_batch_runs_from_collecting_to_results(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    ids = [ask(f"ok {number}") for number in range(5)]
    work_until_closed()

    assert states(*ids) == ["succeeded"] * 5
    (batch,) = JobBatch.objects.all()
    assert (batch.id.version, pool_of(batch.id)) == (7, batch.pool_id)
    assert (batch.state, batch.requests, batch.succeeded, batch.failed) == ("done", 5, 5, 0)
    assert list(provider.runs.values()) == [1] * 5
    for number, job_id in enumerate(ids):
        assert f"did ok {number}" in str(services.job(job_id)["result"])
    used = Call.objects.values_list(
        "of_batch", "used_input_tokens", "used_output_tokens", "used_cached_input_tokens"
    )
    assert set(used) == {(True, 7, 3, 4)}
    assert not runner.due(timezone.now())


def test_only_the_limits_of_the_batch_endpoint_are_charged(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    provider.ends = ""
    full = available()
    ask("ok 1")
    ask("ok 2")
    work()
    assert enqueued_tokens() == 300
    assert available() == full
    provider.ends = "completed"
    work_until_closed()
    assert (enqueued_tokens(), available()) == (0, full)


def test_jobs_wait_queued_until_they_are_old_enough(provider: Provider) -> None:
    make_bulk_pool(provider, "openai", batch_collect_seconds=3600)
    ask()
    now = timezone.now()
    assert not runner.due(now)
    assert runner.due(now + timedelta(seconds=3601))
    work()
    assert not JobBatch.objects.exists()


def test_jobs_wait_until_they_are_enough(provider: Provider) -> None:
    make_bulk_pool(provider, "openai", batch_collect_seconds=3600, batch_max_requests=3)
    for _ in range(7):
        ask()
    work_until_closed()
    work_until_closed()
    work()
    assert [batch.requests for batch in JobBatch.objects.all()] == [3, 3]
    assert Job.objects.filter(state="queued").count() == 1


def test_a_batch_is_no_larger_than_allowed(provider: Provider) -> None:
    make_bulk_pool(provider, "openai", batch_collect_seconds=3600, batch_max_bytes=2000)
    ids = [ask("ok " + 600 * "x") for _ in range(3)]
    work_until_closed()
    assert states(*ids) == ["succeeded", "succeeded", "queued"]
    assert len(provider.files["file_0"]) <= 2000


def test_the_last_moment_at_which_the_window_fits_is_reason_enough(provider: Provider) -> None:
    make_bulk_pool(provider, "openai", batch_collect_seconds=3600)
    job_id = ask(deadline_ms=(24 * 3600 + 10) * 1000)
    work_until_closed()
    assert states(job_id) == ["succeeded"]


def test_jobs_that_cannot_wait_for_the_window_are_left_to_the_pool(provider: Provider) -> None:
    make_bulk_pool(provider, "openai")
    job_id = ask(deadline_ms=23 * 3600 * 1000)
    work()
    assert not JobBatch.objects.exists()
    assert [job.id for job in take(1, "bulk").jobs] == [job_id]


def test_each_model_has_a_batch_of_its_own(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    ids = [ask(model=model) for model in ("small", "large", "small")]
    found = work_until_closed()
    assert states(*ids) == ["succeeded"] * 3
    assert sorted((batch.model, batch.requests) for batch in found) == [("large", 1), ("small", 2)]


@pytest.mark.parametrize("paused", ["pool", "class"])
def test_nothing_is_collected_while_paused(provider: Provider, paused: str) -> None:
    make_bulk_pool(provider, "openai")
    ask()
    owner = Pool if paused == "pool" else WorkloadClass
    owner.objects.update(paused=True)
    assert not runner.due(timezone.now())
    work()
    assert not JobBatch.objects.exists()


def test_a_full_endpoint_makes_the_next_batch_wait(provider: Provider) -> None:
    make_bulk_pool(provider, "openai")
    provider.ends = ""
    first = ask(input_tokens=90_000)
    work()
    second = ask(input_tokens=20_000)
    work()
    waiting = JobBatch.objects.get(state="collecting")
    assert "None of the jobs that wait fits" in waiting.error
    assert states(first, second) == ["running", "queued"]
    provider.ends = "completed"
    work_until_closed()
    assert states(first, second) == ["succeeded", "succeeded"]


def test_a_batch_that_waited_for_days_is_still_sent(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    provider.ends = ""
    ask(input_tokens=90_000)
    work()
    late = ask(input_tokens=20_000)
    work()
    long_ago = timezone.now() - timedelta(days=3)
    JobBatch.objects.filter(state="collecting").update(created_at=long_ago)
    provider.ends = "completed"
    work_until_closed()
    assert states(late) == ["succeeded"]


def test_a_batch_that_waits_is_dropped_with_its_endpoint(provider: Provider) -> None:
    make_bulk_pool(provider, "openai")
    provider.ends = ""
    first, second = ask(input_tokens=90_000), ask(input_tokens=20_000)
    work(), work()
    assert JobBatch.objects.filter(state="collecting").exists()
    Pool.objects.update(batch=False)
    provider.ends = "completed"
    work_until_closed()
    assert states(first, second) == ["succeeded", "queued"]
    assert JobBatch.objects.count() == 1


def test_a_job_cancelled_while_it_waits_is_never_sent(provider: Provider) -> None:
    make_bulk_pool(provider, "openai", batch_collect_seconds=3600)
    services.cancel_job(ask())
    Pool.objects.update(batch_collect_seconds=0)
    work_until_closed()
    assert not provider.runs


def test_a_job_cancelled_before_it_is_sent_is_given_back(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    cancelled, other = ask("ok cancelled"), ask("ok other")
    provider.fail("POST .*", 429)
    work()
    services.cancel_job(cancelled)
    work_until_closed()
    assert list(provider.runs) == ["ok other"]
    assert states(cancelled, other) == ["cancelled", "succeeded"]
    assert enqueued_tokens() == 0


def test_a_job_cancelled_at_the_provider_is_accounted(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    provider.ends = ""
    cancelled, other = ask("ok 1"), ask("ok 2")
    work()
    services.cancel_job(cancelled)
    provider.ends = "completed"
    work_until_closed()
    assert states(cancelled, other) == ["cancelled", "succeeded"]
    assert Call.objects.get(job_id=cancelled).used_output_tokens == 3
    assert services.job(cancelled)["result"] is None


def test_a_batch_that_nobody_waits_for_is_cancelled(provider: Provider, kind: str) -> None:
    make_bulk_pool(provider, kind)
    provider.ends = ""
    job_id = ask()
    work()
    services.cancel_job(job_id)
    work()
    (batch,) = provider.batches.values()
    assert batch["cancelled"]
    provider.ends = "completed"
    (closed,) = work_until_closed()
    assert closed.state == "done"
    assert enqueued_tokens() == 0
