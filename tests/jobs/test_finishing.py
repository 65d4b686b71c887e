"""How attempts end, and what becomes of their jobs."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from budget import services
from budget.ledger.errors import LedgerUnavailable
from budget.ledger.operations import IN_PROCESS, Caller
from budget.models import Call, Job, Pool, WorkloadClass
from budget.services import CallOfJob, TakenJob, UnknownCall
from tests.jobs.accounts import balances, check_accounts
from tests.jobs.clock import Clock, clock
from tests.jobs.queueing import enqueue, finish, take, take_one
from tests.ledger.conftest import quiet
from tests.ledger.disturbances import eventually, lock_held
from tests.ledger.pools import available, make_classes, make_pool

__all__ = ["clock", "quiet"]

SENT_AWAY = {"ending": "sent_away", "outcome": "rate_limited", "error": "429"}
FAILED = {"ending": "failed", "outcome": "failed", "error": "it broke"}


@pytest.fixture(autouse=True)
def pool() -> Iterator[Pool]:
    """The claims pool, whose accounts are right after every test."""
    make_classes()
    made = make_pool({"unit": "total_tokens", "algorithm": "sliding_window", "amount": 100_000})
    yield made
    check_accounts(made)


def only_job() -> Job:
    return Job.objects.get()


def test_a_failed_attempt_rests_longer_each_time_until_they_are_used_up(clock: Clock) -> None:
    enqueue()
    for n, rest in enumerate([1, 2], start=1):
        job = take_one()
        assert (job.attempt, finish(job, **FAILED).state) == (n, "queued")
        taken = take()
        assert taken.jobs == []
        assert taken.due is not None
        moment = only_job().not_before
        assert moment == taken.due
        failed_at = datetime.fromisoformat(only_job().trail[-1]["at"])
        assert moment - failed_at == timedelta(seconds=rest)
        clock.forward(rest)
    assert finish(take_one(), **FAILED).state == "failed"
    assert (only_job().error, only_job().attempts) == ("it broke", 3)
    assert Call.objects.filter(job_id__isnull=False).count() == 3


def test_a_failure_that_would_come_again_ends_the_job() -> None:
    enqueue()
    assert finish(take_one(), **FAILED, final=True).state == "failed"


def test_a_failure_too_near_the_deadline_ends_the_job() -> None:
    enqueue(deadline_ms=5_000)
    assert finish(take_one(), **FAILED, rest_seconds=6).state == "failed"
    assert "no time for another attempt" in only_job().error


def test_an_attempt_that_was_sent_away_counts_for_nothing_and_its_class_rests(
    pool: Pool, clock: Clock
) -> None:
    enqueue(), enqueue()
    for rest in (1, 2, 4, 8):
        job = take_one()
        assert job.attempt == 1
        assert finish(job, **SENT_AWAY).state == "queued"
        assert available() == 100_000
        taken = take(2)
        assert taken.jobs == []
        queue = (balances(pool).queues or {})["rescore"]
        assert queue.blocked_until - queue.failed_at == rest * 1_000_000
        clock.forward(rest)
    assert len(take(2).jobs) == 1, "one at a time until the provider takes one again"


def test_many_sent_away_at_once_are_one_failure(clock: Clock) -> None:
    for _ in range(8):
        enqueue()
    for job in take(8).jobs:
        finish(job, **SENT_AWAY)
    clock.forward(1.1)
    probe = take_one()
    assert take(8).jobs == []
    finish(probe)
    assert len(take(8).jobs) == 7


def test_a_success_of_before_the_refusal_does_not_end_the_rest() -> None:
    enqueue(), enqueue(), enqueue()
    first, second = take(2).jobs
    finish(first, **SENT_AWAY, rest_seconds=30)
    finish(second)
    assert take().jobs == []


def test_a_failed_probe_shows_that_the_provider_is_back(clock: Clock) -> None:
    enqueue(), enqueue(), enqueue()
    finish(take_one(), **SENT_AWAY)
    clock.forward(2)
    finish(take_one(), **FAILED)
    assert len(take(3).jobs) == 2


def test_a_provider_that_is_down_for_an_hour_costs_no_job_an_attempt(clock: Clock) -> None:
    place = enqueue("nightly")
    asked = 0
    for _ in range(360):
        for job in take(5).jobs:
            finish(job, **SENT_AWAY)
            asked += 1
        clock.forward(10)
    assert 50 < asked < 80
    assert len(only_job().trail) <= 41
    clock.forward(60)
    assert finish(take_one()).state == "succeeded"
    told = services.job(place.id)
    assert (told["attempts"], told["trail"][-1]["event"]) == (1, "succeeded")


def test_no_provider_shuts_a_class_for_longer_than_minutes_nor_unseen(clock: Clock) -> None:
    enqueue(deadline_ms=299_000), enqueue("nightly"), enqueue("nightly")
    finish(take_one("bulk"), **SENT_AWAY, rest_seconds=86_400)
    queues = services.queues("claims")
    assert (queues["nightly"].state, queues["rescore"].state) == ("amber", "green")
    assert queues["nightly"].waits_for == "attempts were sent away"
    assert queues["rescore"].waits_for is None
    clock.forward(290)
    assert take(1, "bulk").jobs == []
    assert services.queues("claims")["nightly"].state == "amber"
    clock.forward(11)
    finish(take_one("bulk"))
    queue = services.queues("claims")["nightly"]
    assert (queue.state, queue.waits_for) == ("green", None)


def test_an_edit_lets_a_class_be_asked_that_its_provider_wanted_to_rest() -> None:
    enqueue(), enqueue()
    finish(take_one(), **SENT_AWAY, rest_seconds=86_400)
    for paused in (True, False):
        assert take(2).jobs == []
        WorkloadClass.objects.filter(slug="rescore").update(paused=paused)
    assert len(take(2).jobs) == 1, "to see whether the provider is back"


def test_a_wait_counts_its_providers_rest() -> None:
    for _ in range(4):
        enqueue()
    finish(take_one())
    finish(take_one(), **SENT_AWAY, rest_seconds=100)
    wait = services.queues("claims")["rescore"].expected_wait_seconds
    assert wait is not None
    assert 100 < wait < 110


def test_a_provider_that_was_gone_for_an_hour_is_not_taken_for_a_slow_one(clock: Clock) -> None:
    enqueue("nightly")
    for _ in range(60):
        for job in take().jobs:
            finish(job, **SENT_AWAY)
        clock.forward(60)
    finish(take_one())
    place = enqueue("nightly")
    assert place.queue.expected_wait_seconds == pytest.approx(1, abs=0.1)


def test_attempts_that_never_left_are_neither_billed_nor_counted() -> None:
    enqueue(), enqueue()
    finish(take_one(), **SENT_AWAY, rest_seconds=0)
    call = Call.objects.get()
    assert (call.used_input_tokens, call.used_output_tokens) == (0, 0)
    assert services.queues("claims")["rescore"].taken_per_minute == pytest.approx(0, abs=0.01)


def test_a_success_after_the_deadline_is_kept_but_expired(clock: Clock) -> None:
    enqueue(deadline_ms=10_000)
    job = take_one()
    clock.forward(12)
    assert finish(job, result='"late"', input_tokens=700, output_tokens=0).state == "expired"
    assert only_job().result == '"late"'
    assert "s after its deadline" in only_job().error
    assert Call.objects.get().used_input_tokens == 700


def test_a_running_job_that_is_cancelled_is_billed_for_what_it_used() -> None:
    enqueue()
    job = take_one()
    assert services.cancel_job(job.id)["state"] == "cancelled"
    told = finish(job, result="1", input_tokens=300, output_tokens=0)
    assert (told.accepted, told.state) == (False, "cancelled")
    assert (only_job().result, available()) == (None, 99_700)


def test_an_ending_told_twice_with_other_numbers_counts_once() -> None:
    enqueue()
    job = take_one()
    finish(job, input_tokens=300, output_tokens=0)
    again = finish(job, input_tokens=900, output_tokens=0)
    assert (again.accepted, again.state, available()) == (True, "succeeded", 99_700)


def test_an_ending_whose_teller_gave_up_is_made(settings: Any, quiet: None) -> None:
    enqueue()
    job = take_one()
    settings.BUDGET_LEDGER_WAIT_SECONDS = 0.2
    with lock_held(Pool.objects.get()), pytest.raises(LedgerUnavailable):
        finish(job, result="1")
    assert eventually(lambda: only_job().state == "succeeded")


def test_an_attempt_ends_whatever_its_error_says() -> None:
    enqueue()
    error = "nul \0, half \ud800 and long " + "x" * 10_000
    assert finish(take_one(), **{**FAILED, "error": error}, final=True).state == "failed"
    assert only_job().error.startswith("nul , half ? and long xxx")
    assert len(only_job().error) == 2000


def test_an_attempt_of_another_job_ends_nothing() -> None:
    enqueue(), enqueue()
    first, second = take(2).jobs
    second.id = first.id
    with pytest.raises(services.UnknownJob):
        finish(second)
    assert Job.objects.filter(state="running").count() == 2


def test_a_job_sent_back_over_the_bound_is_kept() -> None:
    WorkloadClass.objects.filter(slug="rescore").update(queue_limit=1)
    enqueue()
    job = take_one()
    enqueue()
    assert finish(job, **{**SENT_AWAY, "outcome": "cancelled"}).state == "queued"
    assert services.queues("claims")["rescore"].depth == 2
    assert len(take(2).jobs) == 2


def test_the_time_to_serve_is_learned() -> None:
    enqueue()
    job = take_one()
    Job.objects.filter(pk=job.id).update(started_at=timezone.now() - timedelta(seconds=30))
    finish(job)
    enqueue(deadline_ms=32_000)
    Job.objects.filter(state="queued").update(deadline=timezone.now() + timedelta(seconds=29))
    assert take().jobs == []
    expired = Job.objects.get(state="expired")
    assert expired.error == "Not run: less time was left to its deadline than it takes."


def settle_from_outside(job: TakenJob, caller: Caller = IN_PROCESS) -> None:
    services.settle(job.call_id, "cancelled", caller=caller)


def renew_from_outside(job: TakenJob, caller: Caller = IN_PROCESS) -> None:
    services.renew(job.call_id, 60_000, caller=caller)


@pytest.mark.parametrize("meddle", [settle_from_outside, renew_from_outside])
def test_nobody_but_its_worker_ends_or_extends_a_jobs_call(meddle: Any, clock: Clock) -> None:
    owner = Caller("k")
    enqueue(caller=owner)
    job = take_one()
    for caller in (IN_PROCESS, owner):
        with pytest.raises(CallOfJob, match=str(job.id)):
            meddle(job, caller)
    with pytest.raises(UnknownCall):
        meddle(job, Caller("another"))
    assert available() == 99_000
    clock.forward((job.lease_expires - timezone.now()).total_seconds() + 1)
    take(0)
    assert (only_job().state, Call.objects.get().state) == ("queued", "lease_expired")
    with pytest.raises(CallOfJob):
        meddle(job)


def test_a_worker_that_settles_its_call_itself_and_dies_holds_its_job_no_longer(
    clock: Clock,
) -> None:
    enqueue()
    job = take_one()
    with pytest.raises(CallOfJob):
        services.settle(job.call_id, "succeeded", 10, 0)
    clock.forward((job.lease_expires - timezone.now()).total_seconds() + 1)
    take(0)
    assert only_job().state == "queued"
    clock.forward(300)
    take()
    assert only_job().state == "expired"
    finish(job, input_tokens=400, output_tokens=0)
    assert Call.objects.get().used_input_tokens == 400
