"""What providers said: taken in once, recorded, and decided again as it was."""

import random
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from budget import services
from budget.ledger.balances import decode_balances
from budget.ledger.rerun import rerun
from budget.ledger.view import look
from budget.models import Limit, Observation, Pool, PoolState, ProviderLimit
from budget.providers.standing import ProviderLimit as Said
from budget.providers.standing import Standing
from tests.ledger.pools import WIDE_WINDOW, admit, available, make_pool, settle, together
from tests.ledger.proxy import Proxy
from tests.ledger.test_faults import proxy

__all__ = ["proxy"]

pytestmark = pytest.mark.usefixtures("classes", "quiet")

BUSY = Standing(refusal="busy")
ANYBODY = services.Caller("")
NIGHTLY = services.Caller("n", classes=frozenset({"nightly"}))
NOBODY = services.Caller("x", classes=frozenset({"gone"}))


def left(tokens: int, **more: Any) -> Standing:
    """A provider whose limit is 100,000 tokens a minute."""
    return Standing((Said("total_tokens", 100_000, tokens, **more),))


def said(
    standing: Standing, age_ms: int = 0, caller: services.Caller = ANYBODY
) -> services.Observed:
    return services.observe("claims", standing, age_ms, caller)


def leaked(pool: Pool) -> dict[str, int]:
    """In all."""
    return look(pool.pk).balances.leaked


def seconds_left(observed: services.Observed) -> dict[str, float]:
    return {
        slug: (until - timezone.now()).total_seconds() for slug, until in observed.backoff.items()
    }


def test_a_leak_is_recorded_and_the_level_clamped(pool: Pool) -> None:
    admit(tokens=20_000)
    observed = said(left(30_000))
    assert observed.leaked["total_tokens"] == pytest.approx(50_000, abs=2_000)
    assert available() == pytest.approx(30_000, abs=2_000)
    assert not admit(tokens=40_000).admitted
    (stored,) = Observation.objects.all()
    assert stored.pool_id == pool.pk
    assert stored.leaked == observed.leaked == leaked(pool)
    assert said(left(30_000)).leaked == {}
    assert Observation.objects.count() == 1


def test_what_the_ledger_expects_changes_nothing(pool: Pool) -> None:
    admit(tokens=20_000)
    states = PoolState.objects.count()
    for tokens in (80_000, 75_000, 100_000):
        assert said(left(tokens)).leaked == {}
    assert said(Standing()) == services.Observed(pool="claims", leaked={}, backoff={}, paused=False)
    assert PoolState.objects.count() == states
    assert not Observation.objects.exists()


def test_what_is_tolerated_is_a_setting(pool: Pool, settings: Any) -> None:
    settings.BUDGET_LEAK_TOLERANCE_PERCENT = 60
    assert said(left(45_000)).leaked == {}
    settings.BUDGET_LEAK_TOLERANCE_PERCENT = 50
    assert said(left(45_000)).leaked


def test_a_provider_of_windows_of_seconds_has_nothing_to_compare() -> None:
    make_pool(WIDE_WINDOW, provider="azure")
    assert said(left(0)).leaked == {}
    assert ProviderLimit.objects.get().remaining == 0


def test_limits_are_remembered_as_they_were_last_told(pool: Pool) -> None:
    said(left(100_000, reset_seconds=1.5))
    said(left(99_000))
    seen = ProviderLimit.objects.get()
    assert (seen.pool_id, seen.unit, seen.amount) == (pool.pk, "total_tokens", 100_000)
    assert (seen.remaining, seen.reset_seconds, seen.per_seconds) == (100_000, 1.5, 60)
    ProviderLimit.objects.update(seen_at=timezone.now() - timedelta(seconds=1))
    said(Standing((Said("total_tokens", None, 98_000),)))
    seen.refresh_from_db()
    assert (seen.amount, seen.remaining) == (100_000, 98_000)


def test_a_busy_provider_is_left_alone_by_the_loosest_first(pool: Pool) -> None:
    observed = said(Standing(refusal="busy", retry_after_seconds=20.0))
    assert observed.backoff.keys() == {"nightly"}
    assert 19 < seconds_left(observed)["nightly"] <= 21
    refused = admit("nightly", 1)
    assert (refused.reason, refused.retryable) == ("provider_backoff", True)
    assert admit("rescore", 1).admitted
    assert said(BUSY).backoff == observed.backoff, "one incident, told twice"
    time.sleep(1)
    assert said(BUSY).backoff.keys() == {"nightly", "rescore"}
    assert Observation.objects.count() == 2


def test_many_that_report_one_incident_put_off_one_tier(pool: Pool) -> None:
    together(8, lambda: [said(BUSY) for _ in range(5)])
    assert said(Standing()).backoff.keys() == {"nightly"}


def test_a_key_of_no_known_class_changes_nothing(pool: Pool) -> None:
    observed = said(
        Standing(left(0).limits, refusal="busy", retry_after_seconds=20.0), caller=NOBODY
    )
    assert (observed.leaked, observed.backoff) == ({}, {})
    assert not Observation.objects.exists()
    assert ProviderLimit.objects.get().remaining == 0, "shown, as whoever told it"


def test_a_lost_reply_to_the_commit(proxy: Proxy, pool: Pool) -> None:
    admit(tokens=20_000)
    for n, remaining in enumerate((30_000, 0), start=1):
        proxy.lose_replies = 1
        observed = said(left(remaining))
        assert not proxy.lose_replies
        assert observed.leaked
        assert Observation.objects.count() == n
    assert leaked(pool)["total_tokens"] == pytest.approx(80_000, abs=3_000)
    assert (
        sum(row.leaked["total_tokens"] for row in Observation.objects.all())
        == (leaked(pool)["total_tokens"])
    )


def test_every_decision_comes_out_the_same(pool: Pool) -> None:
    """Invariant 10, with what a provider says in between."""
    chance = random.Random(4)
    Limit.objects.create(
        pool=pool, unit="total_tokens", algorithm="token_bucket", amount=100_000, burst_percent=50
    )

    def calls() -> None:
        for _ in range(12):
            call = admit(chance.choice(["adjuster", "rescore", "nightly"]), chance.randrange(3000))
            if call.admitted and chance.random() < 0.6:
                settle(call.id, chance.randrange(3000))
            doing: list[Callable[[], object]] = [
                lambda: said(left(chance.randrange(100_000)), chance.randrange(2000)),
                lambda: said(Standing(refusal="busy", retry_after_seconds=chance.random())),
                lambda: said(left(chance.randrange(100_000)), caller=NIGHTLY),
                lambda: said(Standing(refusal="money"), caller=NIGHTLY),
                lambda: None,
            ]
            chance.choice(doing)()

    together(4, calls)
    Limit.objects.filter(algorithm="token_bucket").update(amount=90_000)
    together(4, calls)
    assert Observation.objects.exclude(leaked={}).exists()
    assert Observation.objects.exclude(backoff={}).exists()
    assert Observation.objects.filter(strictest="nightly").exists()
    first = PoolState.objects.filter(pool_id=pool.pk, kept=True).earliest("seq")
    again = rerun(pool.pk, first.seq)
    assert again.differences == []
    assert again.decisions >= 80
    newest = PoolState.objects.filter(pool_id=pool.pk).latest("seq")
    assert again.balances == decode_balances(bytes(newest.state)).pool
