"""Invariant 10: decided again from a kept state, every decision is the same decision."""

import random
import time

import pytest
from django.core.management import CommandError, call_command

from budget import services
from budget.ledger.balances import decode_balances
from budget.ledger.clock import moment
from budget.ledger.operations import Admission
from budget.ledger.rerun import rerun
from budget.ledger.writers import stop_writers
from budget.models import Call, Limit, Pool, PoolState, WorkloadClass
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
