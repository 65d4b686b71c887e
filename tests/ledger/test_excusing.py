"""What callers used while the service was away: no leak, taken in once, and decided again so."""

import random
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from budget import services
from budget.ledger.balances import decode_balances
from budget.ledger.rerun import rerun
from budget.ledger.view import look
from budget.ledger.writers import stop_writers
from budget.models import AwayReport, Limit, Observation, Pool, PoolState
from budget.services.away import take_in
from tests.ledger.disturbances import lock_held
from tests.ledger.pools import admit, available, make_pool, settle, together
from tests.ledger.proxy import Proxy
from tests.ledger.test_faults import proxy
from tests.ledger.test_observing import leaked, left, said

__all__ = ["proxy"]

pytestmark = pytest.mark.usefixtures("classes", "quiet")


def report(tokens: int = 0, **changes: Any) -> services.AwayReport:
    told: dict[str, Any] = {
        "report": uuid4(),
        "workload_class": "adjuster",
        "choice": "local",
        "admitted": 1,
        "shed": 2,
        "input_tokens": tokens,
        "output_tokens": 0,
        "first_at_ms_ago": 5000,
        "last_at_ms_ago": 0,
    }
    return services.AwayReport(**told | changes)


def tell(*reports: services.AwayReport) -> None:
    services.hear("claims", uuid4(), away=reports)


def excused(pool: Pool) -> list[float]:
    return look(pool.pk).balances.pool.excused


def test_what_was_used_alone_is_clamped_and_no_leak(pool: Pool) -> None:
    tell(report(50_000))
    assert available() == 100_000, "nothing is charged for it"
    assert said(left(50_000)).leaked == {}
    assert available() == pytest.approx(50_000, abs=2_000)
    assert leaked(pool) == {}
    assert Observation.objects.get().leaked == {}
    assert said(left(20_000)).leaked["total_tokens"] == pytest.approx(30_000, abs=2_000)


def test_what_calls_were_estimated_at_may_be_missing(pool: Pool) -> None:
    tell(report(500, estimated_input_tokens=20_000, estimated_output_tokens=30_000))
    assert said(left(50_000)).leaked == {}
    assert available() < 60_000


def test_calls_count_as_requests() -> None:
    pool = make_pool({"unit": "requests", "algorithm": "token_bucket", "amount": 100})
    tell(report(50_000, admitted=30), report(admitted=0, choice="shed"))
    assert excused(pool) == [pytest.approx(30, abs=1)]


def test_a_report_counts_once(pool: Pool) -> None:
    once = report(50_000)
    together(4, lambda: [tell(once) for _ in range(3)])
    stop_writers()
    tell(once)
    assert 45_000 < excused(pool)[0] <= 50_000
    assert AwayReport.objects.get().seq is not None


def test_reports_of_long_ago_are_taken_in_and_excuse_nothing(pool: Pool) -> None:
    tell(report(50_000, first_at_ms_ago=90_000, last_at_ms_ago=60_000))
    assert excused(pool) == [0]
    assert AwayReport.objects.get().seq is not None


def test_a_lost_reply_to_the_commit(proxy: Proxy, pool: Pool) -> None:
    admit(tokens=1)
    proxy.lose_replies = 1
    tell(report(50_000))
    assert not proxy.lose_replies
    assert 45_000 < excused(pool)[0] <= 50_000


def test_a_report_the_ledger_never_heard_of_is_found_by_the_next(pool: Pool) -> None:
    """Its server was killed as the report had just been stored."""
    take_in(pool.pk, look(pool.pk).terms, [report(50_000)], "")
    assert excused(pool) == [0]
    tell(report(0))
    assert 45_000 < excused(pool)[0] <= 50_000


def test_a_ledger_that_is_away_hears_of_it_when_it_is_told_again(pool: Pool, settings: Any) -> None:
    settings.BUDGET_LEDGER_WAIT_SECONDS = 0.3
    again = report(50_000)
    with lock_held(pool), pytest.raises(services.LedgerUnavailable):
        tell(again)
    tell(again)
    assert 45_000 < excused(pool)[0] <= 50_000


def test_whoever_observes_first_finds_a_leak_and_no_level_falls_twice(pool: Pool) -> None:
    assert said(left(50_000)).leaked
    tell(report(50_000))
    assert available() == pytest.approx(50_000, abs=2_000)
    assert said(left(50_000)).leaked == {}


def test_a_report_on_a_pool_that_is_gone(pool: Pool) -> None:
    pool.delete()
    with pytest.raises(services.UnknownPool):
        tell(report(1))


def test_every_decision_comes_out_the_same(pool: Pool) -> None:
    """Invariant 10, with reports in between."""
    chance = random.Random(5)
    Limit.objects.create(
        pool=pool, unit="total_tokens", algorithm="token_bucket", amount=100_000, burst_percent=50
    )

    def calls() -> None:
        for _ in range(10):
            call = admit(chance.choice(["adjuster", "rescore", "nightly"]), chance.randrange(3000))
            if call.admitted and chance.random() < 0.6:
                settle(call.id, chance.randrange(3000))
            doing: list[Callable[[], object]] = [
                lambda: said(left(chance.randrange(100_000)), chance.randrange(2000)),
                lambda: tell(*(report(chance.randrange(20_000)) for _ in range(3))),
            ]
            chance.choice(doing)()

    together(4, calls)
    Limit.objects.filter(algorithm="token_bucket").update(amount=90_000)
    together(4, calls)
    first = PoolState.objects.filter(pool_id=pool.pk, kept=True).earliest("seq")
    again = rerun(pool.pk, first.seq)
    assert again.differences == []
    newest = PoolState.objects.filter(pool_id=pool.pk).latest("seq")
    assert again.balances == decode_balances(bytes(newest.state)).pool
    AwayReport.objects.update(input_tokens=0)
    assert rerun(pool.pk, first.seq).balances != again.balances, "reports are part of the record"
