"""Attempts that never report back, and what becomes of their jobs and of those beside them."""

from collections.abc import Iterator

import pytest

from budget import services
from budget.models import Call, Job, Pool, WorkloadClass
from budget.services import TakenJob
from tests.jobs.accounts import balances, check_accounts
from tests.jobs.clock import Clock, clock
from tests.jobs.queueing import enqueue, finish, take, take_one
from tests.ledger.pools import make_classes, make_pool

__all__ = ["clock"]

LEASE = 121
"""Seconds after which one is over."""


@pytest.fixture(autouse=True)
def pool() -> Iterator[Pool]:
    """The claims pool, whose accounts are right after every test."""
    make_classes()
    made = make_pool({"unit": "total_tokens", "algorithm": "sliding_window", "amount": 1_000_000})
    yield made
    check_accounts(made)


def only_job() -> Job:
    return Job.objects.get()


def lose(clock: Clock, jobs: list[TakenJob]) -> None:
    """Whoever runs these dies; then they have had their rest."""
    assert jobs
    clock.forward(LEASE)
    take(0)
    assert not Job.objects.filter(pk__in=[job.id for job in jobs], state="running").exists()
    clock.forward(12)


def test_a_lease_that_is_over_gives_the_job_to_the_next(clock: Clock) -> None:
    enqueue()
    first = take_one()
    clock.forward(121)
    assert services.due(["near_line"])
    assert take().jobs == [], "it is given back first, and rests"
    clock.forward(3)
    second = take_one()
    assert (second.id, second.attempt, second.call_id != first.call_id) == (first.id, 2, True)
    late = finish(first, result="1", input_tokens=600, output_tokens=0)
    assert (late.accepted, late.state) == (False, "running")
    settled = Call.objects.get(pk=first.call_id)
    assert (settled.state, settled.used_input_tokens) == ("settled", 600)
    assert finish(second, result="2").accepted
    assert only_job().result == "2"
    events = [step["event"] for step in only_job().trail]
    assert events == ["started", "lease_expired", "started", "succeeded"]


def test_a_late_ending_of_a_job_that_waits_again_is_not_its_own(clock: Clock) -> None:
    enqueue()
    job = take_one()
    clock.forward(121)
    assert finish(job).accepted is False
    assert only_job().state == "queued"


def test_a_lease_that_is_over_ends_a_job_that_had_its_attempts(clock: Clock) -> None:
    WorkloadClass.objects.filter(slug="rescore").update(max_attempts=1)
    enqueue()
    job = take_one()
    clock.forward(121)
    assert take().jobs == []
    assert (only_job().state, only_job().attempts) == ("failed", 1)
    assert "never reported back" in only_job().error
    assert finish(job).accepted is False
    assert only_job().state == "failed"


def test_a_lease_that_is_over_after_the_deadline_expires_the_job(clock: Clock) -> None:
    enqueue(deadline_ms=60_000)
    take_one()
    clock.forward(121)
    take()
    assert only_job().state == "expired"


def test_a_plain_admission_ends_leases_of_jobs_too(clock: Clock) -> None:
    enqueue()
    take_one()
    clock.forward(121)
    services.admit(
        services.AdmissionRequest(
            pool="claims", workload_class="adjuster", input_tokens=1, output_tokens=0
        )
    )
    assert only_job().state == "queued"


def test_a_job_whose_attempt_was_lost_rests_longer_each_time_and_not_as_long_as_others(
    clock: Clock, pool: Pool
) -> None:
    for _ in range(8):
        enqueue("nightly")
    for shortest in (1, 2):
        taken = take(8).jobs
        assert len(taken) == 8
        clock.forward(LEASE)
        take(0)
        now = balances(pool).pool.at / 1e6
        rests = [job.not_before.timestamp() - now for job in Job.objects.all() if job.not_before]
        assert len(rests) == 8
        assert shortest <= min(rests) + 0.001
        assert max(rests) <= 3 * shortest
        assert max(rests) - min(rests) > 0.2 * shortest
        clock.forward(6)


def test_one_job_that_kills_its_worker_fails_none_of_fifteen_others(clock: Clock) -> None:
    poison = enqueue("nightly").id
    good = {enqueue("nightly").id for _ in range(15)}
    rounds = 0
    while Job.objects.filter(state__in=["queued", "running"]).exists():
        taken = take(8).jobs
        if poison in {job.id for job in taken}:
            lose(clock, taken)
        else:
            for job in taken:
                finish(job)
            clock.forward(1)
        rounds += 1
        assert rounds < 60
    assert Job.objects.get(pk=poison).state == "failed"
    assert {job.pk for job in Job.objects.filter(state="succeeded")} == good


def lost_twice(clock: Clock, jobs: int) -> None:
    """So many nightly jobs have one attempt left."""
    for _ in range(jobs):
        enqueue("nightly")
    for _ in range(2):
        lose(clock, take(jobs).jobs)


def test_jobs_of_which_one_is_to_blame_have_their_last_attempts_one_at_a_time(
    clock: Clock,
) -> None:
    lost_twice(clock, 3)
    fresh = {enqueue("nightly").id for _ in range(2)}
    first = take(8).jobs
    assert len(first) == 3
    assert fresh < {job.id for job in first}, "the others are kept waiting by none of it"
    (last,) = [job for job in first if job.id not in fresh]
    assert last.attempt == 3
    again = take(8)
    assert again.jobs == []
    finish(last)
    (second,) = take(8).jobs
    services.cancel_job(second.id)
    (third,) = take(8).jobs
    assert {last.attempt, second.attempt, third.attempt} == {3}


def test_an_attempt_that_is_lost_keeps_others_away_no_longer(clock: Clock) -> None:
    lost_twice(clock, 2)
    (first,) = take(8).jobs
    clock.forward(LEASE)
    assert take(0).jobs == []
    assert Job.objects.get(pk=first.id).state == "failed"
    (second,) = take(8).jobs
    assert second.id != first.id


def test_all_jobs_lost_once_are_taken_at_once(clock: Clock) -> None:
    """A machine that goes down is no sign against any of its jobs."""
    for _ in range(8):
        enqueue("nightly")
    lose(clock, take(8).jobs)
    assert len(take(8).jobs) == 8


def test_an_attempt_lost_while_it_was_to_see_whether_the_provider_is_back(clock: Clock) -> None:
    WorkloadClass.objects.filter(slug="rescore").update(max_call_seconds=10)
    for _ in range(3):
        enqueue()
    finish(take_one(), ending="sent_away", outcome="rate_limited", error="429")
    clock.forward(2)
    take_one()
    clock.forward(5)
    assert take(3).jobs == []
    clock.forward(6)
    take(0)
    assert len(take(3).jobs) == 1, "another one sees at once"
