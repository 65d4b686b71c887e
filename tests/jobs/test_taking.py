"""Out of the queue: what is next, what the rule admits, and when to come again."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from budget import services
from budget.ledger import jobs, lineup
from budget.ledger.errors import LedgerUnavailable
from budget.ledger.ids import new_id
from budget.ledger.job_operations import CancelJob, Take
from budget.ledger.session import Session
from budget.ledger.submission import Submission
from budget.ledger.writers import stop_writers
from budget.models import Call, Job, Limit, Pool, PoolState, WorkloadClass
from budget.services import running
from tests.jobs.accounts import balances, check_accounts, check_queues
from tests.jobs.clock import Clock, clock
from tests.jobs.queueing import BOTH, enqueue, finish, take, take_one
from tests.ledger.conftest import quiet
from tests.ledger.disturbances import bystander, eventually, lock_held
from tests.ledger.pools import admit, make_classes, make_pool, together

__all__ = ["clock", "quiet"]

SLOTS = {"unit": "requests", "algorithm": "gauge", "amount": 2}


@pytest.fixture(autouse=True)
def pool() -> Pool:
    """60,000 tokens when full, 10,000 a second."""
    make_classes()
    return make_pool()


def due(*tiers: Any) -> float | None:
    """Seconds until there may be a job to take on the claims pool."""
    return services.due(tiers or BOTH).get(Pool.objects.get(slug="claims").pk)


def spend(tokens: int) -> None:
    """Let a call of the loosest class take so much, so that no headroom is kept."""
    assert admit("nightly", tokens).admitted


def test_nothing_is_due_where_nothing_waits() -> None:
    assert take().due is None
    assert due() is None
    enqueue()
    assert (due() or 0) <= 0
    assert due("bulk") is None
    take_one()
    assert due() is None


def test_a_refused_job_is_due_at_the_moment_it_fits(pool: Pool) -> None:
    spend(60_000)
    enqueue(tokens=20_000)
    taken = take()
    assert taken.jobs == []
    assert taken.due is not None
    wait = (taken.due - timezone.now()).total_seconds()
    assert 1.5 < wait <= 2
    assert take().due == taken.due
    assert due() == pytest.approx(wait, abs=0.2)
    trail = services.job(Job.objects.get().pk)["trail"]
    assert [step["event"] for step in trail] == ["refused"]
    assert "It costs 20,000 of total_tokens/token_bucket" in trail[0]["detail"]
    assert Call.objects.filter(job_id__isnull=False).count() == 0
    check_accounts(pool)


def test_asking_in_vain_changes_nothing() -> None:
    spend(60_000)
    enqueue(tokens=60_000)
    take()
    before = balances(Pool.objects.get())
    for _ in range(5):
        take()
    assert balances(Pool.objects.get()) == before
    assert services.queues("claims")["rescore"].depth == 1


def test_a_refusal_holds_up_nobody_else() -> None:
    spend(55_000)
    enqueue("rescore", tokens=50_000)
    enqueue("nightly", tokens=100)
    assert [job.workload_class for job in take(5).jobs] == ["nightly"]


def test_a_large_job_is_overtaken_so_often_and_then_runs(pool: Pool, clock: Clock) -> None:
    Limit.objects.update(amount=6_000, burst_percent=100)
    WorkloadClass.objects.create(slug="archive", tier="bulk", deadline_seconds=86_400)
    spend(6_000)
    large = enqueue("nightly", tokens=5_000)
    for _ in range(80):
        enqueue("archive", tokens=90)
    order: list[Any] = []
    while large.id not in order:
        clock.forward(1)
        taken = take(5).jobs
        order += [job.id for job in taken]
        for job in taken:
            finish(job)
        assert len(order) <= 21
    assert len(order) == 21
    check_accounts(pool)


def test_a_gauge_that_an_ending_frees_is_taken_at_once(clock: Clock) -> None:
    Limit.objects.all().delete()
    Limit.objects.create(pool=Pool.objects.get(), **SLOTS)
    for _ in range(4):
        enqueue()
    first, _ = take(4).jobs
    assert (due() or 0) > 0
    finish(first)
    assert (due() or 0) <= 0
    assert len(take(4).jobs) == 1


def test_jobs_of_one_tier_leave_the_other_alone() -> None:
    enqueue("nightly"), enqueue("rescore")
    assert take_one("bulk").workload_class == "nightly"
    assert take_one("near_line").workload_class == "rescore"


def test_a_job_that_would_be_admitted_too_late_is_dropped_at_once(pool: Pool) -> None:
    spend(60_000)
    enqueue(tokens=60_000, deadline_ms=3_000)
    assert take().jobs == []
    job = Job.objects.get()
    assert (job.state, job.error) == (
        "expired",
        "Not run: it could not be admitted in time to be done by its deadline.",
    )
    check_accounts(pool)


@pytest.mark.parametrize(
    ("tokens", "too_late"),
    [
        (1000, "Not run: less time was left to its deadline than it takes."),
        (60_000, "Not run: it could not be admitted in time to be done by its deadline."),
    ],
)
def test_a_job_that_is_dropped_says_what_its_last_attempt_came_to(
    pool: Pool, clock: Clock, tokens: int, too_late: str
) -> None:
    place = enqueue(tokens=tokens, deadline_ms=20_000)
    finish(take_one(), ending="sent_away", outcome="rate_limited", error="No key.", rest_seconds=19)
    clock.forward(19.2 if tokens > 1000 else 20)
    if tokens > 1000:
        spend(50_000)
    assert take().jobs == []
    told = services.job(place.id)
    assert (told["state"], told["error"]) == ("expired", f"{too_late} Last: No key.")
    assert told["trail"][-1]["event"] == "expired"
    check_accounts(pool)


def test_a_job_that_no_longer_fits_fails_in_words(pool: Pool) -> None:
    place = enqueue(tokens=50_000)
    Limit.objects.update(amount=100_000)
    assert take().jobs == []
    told = services.job(place.id)
    assert told["state"] == "failed"
    assert "may cost at most 10,000 of total_tokens/token_bucket" in told["error"]
    check_accounts(pool)


def test_a_raised_limit_is_used_at_once() -> None:
    spend(60_000)
    enqueue(tokens=60_000)
    assert take().jobs == []
    Limit.objects.update(amount=6_000_000, burst_percent=100)
    assert (due() or 0) <= 0


def test_taking_together_takes_each_once(pool: Pool) -> None:
    ids = {enqueue(tokens=10).id for _ in range(40)}
    taken = together(8, lambda: [job for _ in range(5) for job in take(2).jobs])
    jobs = [job.id for found in taken for job in found]
    assert len(jobs) == len(set(jobs)) == 40
    assert set(jobs) == ids
    check_accounts(pool)


@pytest.mark.parametrize("late", [False, True])
def test_a_job_cancelled_in_the_same_batch_does_not_start(pool: Pool, late: bool) -> None:
    first, second = enqueue(), enqueue("nightly")
    if late:
        Job.objects.filter(pk=first.id).update(deadline=timezone.now())
    session = Session(pool.pk)
    cancelling = Submission(CancelJob(id=first.id))
    taking = Submission(Take(id=new_id(pool.pk), tiers=("near_line", "bulk"), most=5))
    cancelled, taken = session.decide([cancelling, taking])
    session.close()
    assert (getattr(cancelled, "state", None), Job.objects.get(pk=first.id).state) == (
        "cancelled",
        "cancelled",
    )
    assert isinstance(taken, services.Taken)
    assert [job.id for job in taken.jobs] == [second.id]
    check_accounts(pool)


def test_what_a_taker_took_that_gave_up_goes_back_uncounted(
    pool: Pool, settings: Any, quiet: None
) -> None:
    enqueue(), enqueue()
    settings.BUDGET_LEDGER_WAIT_SECONDS = 0.2
    with lock_held(pool), pytest.raises(LedgerUnavailable):
        take(2)
    settings.BUDGET_LEDGER_WAIT_SECONDS = 5
    assert eventually(lambda: [job["event"] for job in trails()] == ["started", "sent_away"] * 2)
    assert services.pool_view("claims")["limits"][0]["available"] == 60_000
    assert [job.attempt for job in take(2).jobs] == [1, 1]
    check_accounts(pool)


def trails() -> list[dict[str, Any]]:
    """Every step of every job."""
    return [step for trail in Job.objects.values_list("trail", flat=True) for step in trail]


def test_nothing_is_taken_from_a_paused_pool() -> None:
    enqueue()
    Pool.objects.update(paused=True)
    assert take().jobs == []
    assert (due() or 0) > 200
    Pool.objects.update(paused=False)
    assert due() == 0
    assert take_one()


@pytest.mark.parametrize("paused", [Pool, WorkloadClass])
def test_what_is_paused_is_due_to_be_dropped_at_its_deadline(paused: Any, clock: Clock) -> None:
    enqueue(deadline_ms=200_000)
    enqueue(deadline_ms=100_000)
    paused.objects.update(paused=True)
    for wait in (100, 100):
        take()
        assert due() == pytest.approx(wait, abs=2)
        clock.forward(wait)
        assert due() == 0
        taken = take()
        assert taken.jobs == []
    assert set(Job.objects.values_list("state", flat=True)) == {"expired"}
    assert (taken.due, due()) == (None, None)


def test_what_rests_while_it_is_paused_is_dropped_at_its_deadline(clock: Clock) -> None:
    enqueue(deadline_ms=100_000)
    finish(take_one(), ending="failed", outcome="failed", rest_seconds=50)
    WorkloadClass.objects.update(paused=True)
    for wait in (50, 50):
        take()
        assert due() == pytest.approx(wait, abs=2)
        clock.forward(wait)
    take()
    assert (Job.objects.get().state, due()) == ("expired", None)


def test_what_a_provider_keeps_waiting_is_dropped_at_its_deadline(clock: Clock) -> None:
    enqueue(deadline_ms=100_000)
    finish(take_one(), ending="sent_away", outcome="rate_limited", rest_seconds=3600)
    assert due() == pytest.approx(100, abs=2)
    clock.forward(100)
    take()
    assert (Job.objects.get().state, due()) == ("expired", None)


def test_more_late_jobs_than_are_dropped_at_once_are_due_again(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr(lineup, "MOST_EXPIRED", 2)
    for _ in range(5):
        enqueue(deadline_ms=100_000)
    WorkloadClass.objects.update(paused=True)
    take()
    clock.forward(101)
    for left in (3, 1, 0):
        assert due() == 0
        take()
        assert Job.objects.filter(state="queued").count() == left
    assert due() is None


def test_jobs_whose_work_cannot_be_read_are_handed_back(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    WorkloadClass.objects.update(max_attempts=1)
    enqueue(), enqueue()
    connection.ensure_connection()
    lost = connection.connection.info.backend_pid

    def lose(*_: Any) -> None:
        """The connection breaks once the jobs are taken."""
        with bystander() as other:
            other.execute("SELECT pg_terminate_backend(%s)", (lost,))

    pool_id = pool.pk
    enlisted = jobs.with_work
    monkeypatch.setattr(running, "with_work", lambda taken: (lose(), enlisted(taken))[1])
    with pytest.raises(LedgerUnavailable):
        services.take(pool_id, BOTH, 2)
    monkeypatch.undo()
    assert eventually(lambda: Job.objects.filter(state="queued").count() == 2)
    assert [job.attempt for job in take(2).jobs] == [1, 1]
    check_accounts(pool)


def test_a_taken_job_brings_its_work_and_its_lease() -> None:
    WorkloadClass.objects.filter(slug="rescore").update(max_call_seconds=30)
    enqueue(args={"a": [1]})
    job = take_one()
    assert (job.task, job.args, job.pool) == ("tests.echo", '{"a":[1]}', "claims")
    left = job.lease_expires - timezone.now()
    assert timedelta(seconds=28) < left <= timedelta(seconds=30)


def test_states_of_before_there_were_queues_are_counted(pool: Pool) -> None:
    enqueue(), enqueue()
    stop_writers()
    newest = PoolState.objects.latest("seq")
    old = balances(pool)
    old.queues = None
    document = old.encode().replace(b',"queues":null', b"").replace(b',"recount":false', b"")
    assert b"queues" not in document
    PoolState.objects.filter(seq=newest.seq).update(state=document)
    assert (due() or 0) <= 0
    assert services.queues("claims")["rescore"].depth == 0
    assert len(take(5).jobs) == 2
    check_accounts(pool)


def test_unreadable_balances_are_begun_anew_and_the_queues_counted(pool: Pool, quiet: None) -> None:
    enqueue(), enqueue()
    take_one()
    stop_writers()
    PoolState.objects.filter(seq=PoolState.objects.latest("seq").seq).update(state=b"{}")
    assert len(take(5).jobs) == 1
    assert services.queues("claims")["rescore"].running == 2


def test_jobs_that_somebody_else_deleted_are_counted_out(pool: Pool) -> None:
    enqueue(), enqueue("nightly")
    Job.objects.filter(workload_class="rescore").delete()
    assert len(take(5).jobs) == 1
    assert due() is not None
    assert take().due is None
    assert due() is None
    check_queues(pool)


def test_jobs_of_a_pool_that_is_gone_are_nobodys(pool: Pool) -> None:
    place = enqueue()
    pool.delete()
    make_pool()
    assert (take().jobs, due()) == ([], None)
    with pytest.raises(services.UnknownJob):
        services.job(place.id)
    with pytest.raises(services.UnknownJob):
        services.cancel_job(place.id)
    assert enqueue().queue.depth == 1


def test_jobs_of_a_class_that_is_gone_wait_for_it_until_their_deadline(
    pool: Pool, clock: Clock
) -> None:
    enqueue("nightly")
    enqueue("nightly", deadline_ms=60_000)
    WorkloadClass.objects.filter(slug="nightly").delete()
    assert take().jobs == []
    assert due() == pytest.approx(60, abs=1)
    clock.forward(61)
    take()
    assert sorted(Job.objects.values_list("state", flat=True)) == ["expired", "queued"]
    WorkloadClass.objects.create(slug="nightly", tier="bulk", deadline_seconds=28_800)
    assert take_one().workload_class == "nightly"
    check_accounts(pool)
