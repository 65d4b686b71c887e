"""Invariant 10: decided again from a kept state, every decision is the same decision."""

import random
import time
from contextlib import suppress
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from budget import services
from budget.ledger.balances import decode_balances
from budget.ledger.clock import moment
from budget.ledger.operations import Admission
from budget.ledger.rerun import rerun
from budget.ledger.writers import stop_writers
from budget.models import Call, Limit, Pool, PoolState, WorkloadClass
from tests.jobs.accounts import check_accounts
from tests.jobs.queueing import BATCHED, ECHO, enqueue, finish, take
from tests.ledger.pools import admit, make_pool, settle, together

pytestmark = pytest.mark.usefixtures("classes")


@pytest.fixture
def history() -> Pool:
    """Admissions, refusals, settlements, lapses, retries and edits, many at once."""
    WorkloadClass.objects.update(max_call_seconds=1, max_call_tokens=2000)
    pool = make_pool(
        {"unit": "total_tokens", "algorithm": "token_bucket", "amount": 300_000},
        {"unit": "requests", "algorithm": "sliding_window", "amount": 300},
        {"unit": "requests", "algorithm": "gauge", "amount": 40},
        shares={"adjuster": 40, "rescore": 20},
    )
    chance = random.Random(2)

    def calls() -> None:
        for _ in range(15):
            slug = chance.choice(["adjuster", "rescore", "nightly", None])
            key = chance.choice([None, None, f"key {chance.randrange(30)}"])
            tokens = chance.randrange(1, 2000) if key is None else 1000 + len(slug or "")
            call = admit(slug, tokens, idempotency_key=key and f"{key} {slug}")
            if call.admitted and not call.replayed and chance.random() < 0.5:
                settle(call.id, chance.randrange(2000))

    together(6, calls)
    Limit.objects.filter(algorithm="token_bucket").update(amount=200_000)
    together(6, calls)
    late = admitted()
    time.sleep(1.1)
    WorkloadClass.objects.filter(slug="nightly").update(paused=True)
    together(6, calls)
    assert Call.objects.get(pk=late.id).state == "lease_expired"
    settle(late.id, 1)
    services.cancel(admitted().id)
    return pool


@pytest.fixture
def history_of_jobs() -> Pool:
    """Calls, jobs and jobs of a batch endpoint, with every ending and an edit between."""
    WorkloadClass.objects.update(max_call_seconds=1, queue_limit=30)
    pool = make_pool(
        {"unit": "total_tokens", "algorithm": "token_bucket", "amount": 300_000},
        {"unit": "requests", "algorithm": "gauge", "amount": 80},
        shares={"adjuster": 40, "rescore": 20},
        batch=True,
        batch_window_hours=1,
    )
    Limit.objects.create(
        pool=pool, of_batch=True, unit="total_tokens", algorithm="gauge", amount=50_000
    )

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(12):
            for slug in ("rescore", "nightly"):
                place_job(slug, chance.randrange(2000), chance.choice([ECHO, BATCHED]))
            admit("adjuster", chance.randrange(2000))
            taken = take(3).jobs
            taken += services.collect(pool.pk, uuid4(), "small", 2, 10_000).jobs
            for job in taken:
                ending, outcome = chance.choice(ENDINGS)
                used = chance.randrange(3000)
                if chance.random() < 0.8:
                    finish(
                        job,
                        ending=ending,
                        outcome=outcome,
                        input_tokens=used,
                        output_tokens=0,
                        rest_seconds=0.01,
                    )

    seeds = iter(range(100))
    together(4, lambda: work(next(seeds)))
    Limit.objects.filter(algorithm="token_bucket").update(amount=200_000)
    time.sleep(1.1)
    together(4, lambda: work(next(seeds)))
    return pool


ENDINGS = [
    ("succeeded", "succeeded"),
    ("failed", "failed"),
    ("sent_away", "rate_limited"),
    ("sent_away", "cancelled"),
]


def place_job(slug: str, tokens: int, task: str) -> None:
    with suppress(services.Shed):
        enqueue(slug, tokens, task=task, args={"model": "small"})


def test_every_decision_on_jobs_comes_out_the_same(history_of_jobs: Pool) -> None:
    first = PoolState.objects.filter(pool_id=history_of_jobs.pk, kept=True).earliest("seq")
    again = rerun(history_of_jobs.pk, first.seq)
    assert again.differences == []
    decided = Call.objects.filter(seq__gt=first.seq).exclude(state="shed", job_id__isnull=False)
    assert again.decisions == decided.count() > 100
    assert decided.filter(of_batch=True).exists()
    assert decided.filter(job_id__isnull=False, state="lease_expired").exists()
    newest = PoolState.objects.filter(pool_id=history_of_jobs.pk).latest("seq")
    assert again.balances == decode_balances(bytes(newest.state)).pool
    check_accounts(history_of_jobs)


def admitted() -> Admission:
    """A call that stays open, as soon as there is room for it."""
    while not (call := admit("adjuster", 1)).admitted:
        time.sleep(0.05)
    return call


def test_every_decision_comes_out_the_same(history: Pool) -> None:
    first = PoolState.objects.filter(pool_id=history.pk, kept=True).earliest("seq")
    again = rerun(history.pk, first.seq)
    assert again.differences == []
    assert again.decisions == Call.objects.filter(seq__gt=first.seq).count() > 200
    newest = PoolState.objects.filter(pool_id=history.pk).latest("seq")
    assert again.balances == decode_balances(bytes(newest.state)).pool


def test_a_clock_that_was_set_back_mixes_nothing_up(history: Pool) -> None:
    stop_writers()
    newest = PoolState.objects.latest("seq")
    ahead = decode_balances(bytes(newest.state))
    ahead.pool.at += 120_000_000
    PoolState.objects.filter(seq=newest.seq).update(
        state=ahead.encode(), at=moment(ahead.pool.at), kept=True
    )
    for n in range(10):
        call = admit("adjuster", 100)
        Limit.objects.filter(algorithm="token_bucket").update(amount=150_000 + n)
        if call.admitted:
            settle(call.id, 50)
    again = rerun(history.pk, newest.seq)
    assert (again.decisions, again.differences) == (10, [])
    last = PoolState.objects.latest("seq")
    assert again.balances == decode_balances(bytes(last.state)).pool
    assert last.at > moment(ahead.pool.at)


def test_the_command_finds_nothing_where_nothing_was_changed(
    history: Pool, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("rerun_decisions", "claims", minutes=1)
    assert "decisions and the balances after them are the same." in capsys.readouterr().out


def test_the_command_names_what_was_changed(
    history: Pool, capsys: pytest.CaptureFixture[str]
) -> None:
    call = Call.objects.filter(state="shed", reason="pool_exhausted").latest("seq")
    Call.objects.filter(pk=call.pk).update(reason="paused")
    with pytest.raises(CommandError, match="1 of"):
        call_command("rerun_decisions", "claims")
    assert (
        f"{call.pk} ({call.workload_class}): shed, paused; again: shed" in capsys.readouterr().out
    )


def test_the_command_says_when_there_is_nothing_to_decide_again() -> None:
    with pytest.raises(CommandError, match="no pool"):
        call_command("rerun_decisions", "claims")
    make_pool()
    with pytest.raises(CommandError, match="Nothing was decided"):
        call_command("rerun_decisions", "claims")


def test_a_tampered_row_is_found(history: Pool) -> None:
    first = PoolState.objects.filter(pool_id=history.pk, kept=True).earliest("seq")
    call = Call.objects.filter(state="shed", seq__gt=first.seq).first()
    assert call is not None
    Call.objects.filter(pk=call.pk).update(reason="paused")
    differences = rerun(history.pk, first.seq).differences
    assert [difference.call.pk for difference in differences] == [call.pk]
