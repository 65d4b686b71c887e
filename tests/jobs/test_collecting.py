"""Jobs for the batch endpoint, which has an allowance of its own."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from budget import services
from budget.ledger import deciding
from budget.models import Call, Job, Limit, Pool
from budget.services import TakenJob, running
from tests.jobs.accounts import balances, check_accounts
from tests.jobs.clock import Clock, clock
from tests.jobs.queueing import BATCHED, enqueue, finish, take, take_one
from tests.ledger.pools import available, make_classes, make_pool

__all__ = ["clock"]


@pytest.fixture(autouse=True)
def pool() -> Pool:
    """The claims pool with a batch endpoint that may hold 5,000 enqueued tokens for an hour."""
    make_classes()
    made = make_pool(batch=True, batch_window_hours=1)
    Limit.objects.create(
        pool=made, of_batch=True, unit="total_tokens", algorithm="gauge", amount=5_000
    )
    return made


def ask(tokens: int = 1000, model: str = "small", **fields: Any) -> Any:
    """Enqueue a job that a batch endpoint takes."""
    args = {"model": model, **fields.pop("args", {})}
    return enqueue("nightly", tokens, task=BATCHED, args=args, **fields)


def collect(
    most: int = 10, most_bytes: int = 10_000, model: str = "small", batch_id: UUID | None = None
) -> list[TakenJob]:
    """Collect jobs for one batch."""
    pool_id = Pool.objects.get(slug="claims").pk
    return services.collect(pool_id, batch_id or uuid4(), model, most, most_bytes).jobs


def held() -> float:
    """Enqueued tokens at the provider."""
    (limit,) = services.pool_view("claims")["batch_limits"]
    return float(limit["amount"] - limit["available"])


def test_a_batch_draws_on_its_own_limits_and_not_on_the_pools(pool: Pool) -> None:
    for _ in range(7):
        ask()
    jobs = collect()
    assert len(jobs) == 5
    assert (held(), available()) == (5_000, 60_000)
    assert set(Call.objects.values_list("of_batch", flat=True)) == {True}
    assert collect() == []
    finish(jobs[0], input_tokens=800, output_tokens=0)
    assert (held(), available()) == (4_000, 60_000)
    assert len(collect()) == 1
    minute = balances(pool).minute.of("nightly")
    assert (minute.offered, minute.admitted, minute.charged, minute.used_tokens) == (7, 6, 0, 800)
    check_accounts(pool)


def test_jobs_that_wait_for_a_batch_are_not_taken_until_they_can_wait_no_longer(
    pool: Pool, clock: Clock
) -> None:
    ask(deadline_ms=5_400_000)
    taken = take()
    assert taken.jobs == []
    (wait,) = services.due(["bulk"]).values()
    assert wait == pytest.approx(1800, abs=2)
    clock.forward(1801)
    assert collect() == []
    assert take_one().workload_class == "nightly"
    assert available() < 60_000
    check_accounts(pool)


def test_an_earlier_one_is_foreseen_though_another_waits_already() -> None:
    ask(deadline_ms=7_200_000)
    take()
    ask(deadline_ms=5_400_000)
    (wait,) = services.due(["bulk"]).values()
    assert wait == pytest.approx(1800, abs=2)


def test_jobs_whose_deadline_is_too_near_run_at_once() -> None:
    ask(deadline_ms=3_000_000)
    assert collect() == []
    assert take_one()


def test_without_a_batch_endpoint_they_run_at_once() -> None:
    Pool.objects.update(batch=False)
    ask()
    assert collect() == []
    assert take_one()


def test_a_batch_has_one_model_and_is_bounded_in_number_and_size() -> None:
    for n in range(6):
        ask(tokens=1, model="small" if n % 2 else "large", args={"text": "x" * 100})
    assert len(collect(model="large", most=2)) == 2
    assert len(collect(most_bytes=300)) == 2
    assert len(collect(model="none")) == 0


def test_what_no_batch_can_hold_keeps_nobody_out() -> None:
    Limit.objects.filter(of_batch=True).update(amount=50_000)
    ask(tokens=20_000, deadline_ms=7_000_000)
    ask(args={"text": "x" * 500}, deadline_ms=7_100_000)
    fitting = ask()
    Limit.objects.filter(of_batch=True).update(amount=5_000)
    assert [job.id for job in collect(most_bytes=400)] == [fitting.id]


@pytest.mark.parametrize("bound", ["tokens", "bytes"])
def test_many_that_no_batch_can_hold_hide_nobody_and_run_alone(
    bound: str, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "MOST_COLLECTED", 2)
    Limit.objects.filter(of_batch=True).update(amount=50_000)
    text = "x" * (3000 if bound == "bytes" else 1)
    for _ in range(3):
        ask(tokens=6_000, deadline_ms=7_000_000, args={"text": text})
    fitting = ask()
    if bound == "bytes":
        Pool.objects.update(batch_max_bytes=2000)
    else:
        Limit.objects.filter(of_batch=True).update(amount=5_000)
    collected = [job.id for _ in range(3) for job in collect(most_bytes=2000)]
    assert collected == [fitting.id]
    assert len(take(3).jobs) == 3
    assert Job.objects.filter(batchable=False).count() == 3
    check_accounts(pool)


def test_a_batch_endpoint_may_limit_requests(pool: Pool) -> None:
    Limit.objects.create(pool=pool, of_batch=True, unit="requests", algorithm="gauge", amount=2)
    for _ in range(3):
        ask(tokens=10)
    jobs = collect()
    assert len(jobs) == 2
    assert collect() == []
    finish(jobs[0], input_tokens=10, output_tokens=0)
    assert len(collect()) == 1
    check_accounts(pool)


def test_a_batch_that_never_reports_back_gives_up_its_tokens_and_its_jobs(
    pool: Pool, clock: Clock
) -> None:
    ask()
    (job,) = collect()
    assert (job.lease_expires - job.deadline).total_seconds() < 0
    clock.forward(2 * 3600 + 1)
    take()
    assert held() == 0
    assert Job.objects.get().state == "queued"
    finish(job, input_tokens=10, output_tokens=0)
    assert held() == 0
    check_accounts(pool)


def test_an_endpoint_that_is_turned_off_meanwhile_harms_nothing(pool: Pool) -> None:
    ask(), ask()
    first, second = collect()
    Pool.objects.update(batch=False)
    assert finish(first, input_tokens=500, output_tokens=0).state == "succeeded"
    assert available() == 60_000
    Pool.objects.update(batch=True)
    finish(second, ending="sent_away", outcome="cancelled", rest_seconds=0)
    assert held() == 0
    assert len(collect()) == 1
    check_accounts(pool)


def test_what_a_batch_takes_leaves_the_order_of_the_queue_alone(pool: Pool) -> None:
    enqueue("nightly", tokens=60_000)
    enqueue("nightly", tokens=50_000)
    take_one()
    assert take().jobs == []
    before = (balances(pool).queues or {})["nightly"]
    ask()
    assert len(collect()) == 1
    after = (balances(pool).queues or {})["nightly"]
    assert (after.blocked_until, after.served) == (before.blocked_until, before.served)
    assert after.running == before.running + 1


def test_a_paused_class_or_pool_is_not_collected() -> None:
    ask()
    Pool.objects.update(paused=True)
    assert collect() == []
    Pool.objects.update(paused=False)
    assert len(collect()) == 1


def test_a_row_that_expired_at_the_provider_goes_back_uncounted() -> None:
    ask()
    (job,) = collect()
    finish(job, ending="sent_away", outcome="cancelled", error="expired there", rest_seconds=0)
    assert [again.attempt for again in collect()] == [1]


def test_a_batch_that_is_sent_late_has_its_leases_renewed(
    pool: Pool, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "MOST_RENEWED", 2)
    for _ in range(5):
        ask()
    batch_id = uuid4()
    jobs, others = collect(most=4, batch_id=batch_id), collect()
    finish(jobs[0], input_tokens=500, output_tokens=0)
    until = jobs[0].lease_expires + timedelta(hours=2)
    for _ in range(2):
        assert services.renew_batch(pool.pk, batch_id, until) == 3
    calls = Call.objects.in_bulk([job.call_id for job in [*jobs, *others]])
    leases = [calls[job.call_id].lease_expires for job in [*jobs, *others]]
    assert leases == [jobs[0].lease_expires, until, until, until, others[0].lease_expires]

    clock.forward(3 * 3600)
    assert take().jobs == []
    assert [Job.objects.get(pk=job.id).state for job in jobs] == ["succeeded"] + 3 * ["running"]
    assert Job.objects.get(pk=others[0].id).state == "queued"
    clock.forward(3601)
    take()
    assert services.renew_batch(pool.pk, batch_id, until + timedelta(hours=9)) == 0
    assert held() == 0
    check_accounts(pool)


def test_a_renewal_never_shortens_a_lease(pool: Pool) -> None:
    ask()
    batch_id = uuid4()
    (job,) = collect(batch_id=batch_id)
    assert services.renew_batch(pool.pk, batch_id, job.deadline) == 1
    assert services.renew_batch(pool.pk, batch_id, timezone.now()) == 1
    assert Call.objects.get().lease_expires == max(job.lease_expires, job.deadline)


def test_a_job_that_left_its_batch_and_runs_alone_keeps_its_own_lease(
    pool: Pool, clock: Clock
) -> None:
    ask(deadline_ms=5_400_000)
    batch_id = uuid4()
    (job,) = collect(batch_id=batch_id)
    finish(job, ending="sent_away", outcome="cancelled", rest_seconds=0)
    clock.forward(1801)
    alone = take_one()
    assert Job.objects.get().batch_id == batch_id
    later = alone.lease_expires + timedelta(hours=9)
    assert services.renew_batch(pool.pk, batch_id, later) == 0
    assert Call.objects.get(pk=alone.call_id).lease_expires == alone.lease_expires
