"""Usage by minute: what was decided adds up to what is reported."""

import random
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from budget import services
from budget.ledger.balances import decode_balances
from budget.ledger.rerun import rerun
from budget.models import Call, PoolLock, PoolState, Reservation, UsageMinute, WorkloadClass
from tests.ledger.pools import admit, make_pool, settle

pytestmark = pytest.mark.usefixtures("classes")

WINDOW = {"unit": "total_tokens", "algorithm": "sliding_window", "amount": 20_000}


@pytest.fixture(autouse=True)
def _early_in_the_minute() -> None:
    """What a test does before it waits falls into one minute, and into one second."""
    left = 60 - time.time() % 60
    if left < 6:
        time.sleep(left)
    if time.time() % 1 > 0.3:
        time.sleep(1 - time.time() % 1)


def usage(workload_class: str | None = None) -> list[dict[str, Any]]:
    now = datetime.now(UTC)
    return services.usage("claims", now - timedelta(minutes=5), now, workload_class)


def test_totals_equal_the_sum_over_decisions() -> None:
    make_pool(WINDOW, shares={"adjuster": 40})
    chance = random.Random(1)
    for n in range(60):
        slug = chance.choice(["adjuster", "rescore", "nightly", None])
        tokens = chance.randrange(1, 2000)
        call = admit(slug, tokens)
        if call.admitted and n % 2:
            settle(call.id, chance.randrange(2 * tokens))
    found = {minute["workload_class"]: minute for minute in usage()}
    assert set(found) == {"", "adjuster", "nightly", "rescore"}
    for slug, minute in found.items():
        calls = list(Call.objects.filter(workload_class=slug))
        admitted = [call for call in calls if call.state != "shed"]
        assert minute["offered"] == len(calls)
        assert minute["untagged"] == sum(call.untagged for call in calls)
        assert minute["admitted"] == len(admitted)
        assert minute["estimated_tokens"] == sum(call.input_tokens for call in admitted)
        assert minute["used_tokens"] == sum(call.used_input_tokens or 0 for call in admitted)
        shed = [call.reason for call in calls if call.state == "shed"]
        assert minute["shed"] == {reason: shed.count(reason) for reason in set(shed)}
        assert minute["shed_rate"] == len(shed) / len(calls)


def test_utilisation_is_what_was_kept_of_the_allowance() -> None:
    make_pool(WINDOW)
    admit(tokens=4000)
    settle(admit(tokens=4000).id, 1000)
    settle(admit(tokens=1000).id, 2000)
    (minute,) = usage("adjuster")
    assert minute["utilisation_percent"] == 100 * (4000 + 1000 + 2000) / 20_000


def test_a_minute_of_refunds_alone_reports_no_utilisation(monkeypatch: pytest.MonkeyPatch) -> None:
    minutes_pass_in_seconds(monkeypatch)
    make_pool(WINDOW)
    call = admit(tokens=4000)
    time.sleep(1)
    settle(call.id, 1000)
    assert min(minute["utilisation_percent"] for minute in usage("adjuster")) == 0
    time.sleep(1)
    admit(tokens=1)
    charged = UsageMinute.objects.filter(workload_class="adjuster").order_by("minute")
    assert list(charged.values_list("charged", flat=True)) == [4000, -3000], "it adds up"


def test_a_closed_minute_becomes_one_row_per_class(monkeypatch: pytest.MonkeyPatch) -> None:
    minutes_pass_in_seconds(monkeypatch)
    make_pool(WINDOW)
    admit("adjuster", 100)
    admit("nightly", 200)
    time.sleep(1)
    admit("adjuster", 300)
    rows = UsageMinute.objects.filter(offered__gt=0)
    totals = rows.values_list("workload_class", "estimated_tokens", "allowance")
    assert sorted(totals) == [("adjuster", 100, 20_000), ("nightly", 200, 20_000)]


def test_a_class_that_makes_no_call_has_its_row_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    minutes_pass_in_seconds(monkeypatch)
    make_pool(WINDOW)
    admit("adjuster")
    time.sleep(1)
    admit("adjuster")
    assert UsageMinute.objects.get(workload_class="nightly").offered == 0


def test_minutes_close_although_nobody_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    minutes_pass_in_seconds(monkeypatch)
    idle_minutes_close_at_once(monkeypatch)
    pool = make_pool(WINDOW)
    admit("adjuster", 100)
    time.sleep(3.2)
    minutes = UsageMinute.objects.filter(workload_class="adjuster").order_by("minute")
    assert list(minutes.values_list("offered", flat=True))[:3] == [1, 0, 0]
    closed = PoolState.objects.filter(pool_id=pool.pk, seq__gt=1)
    assert closed.exists()
    assert not closed.filter(kept=True).exists(), "no decision needs them to be re-run"


def test_a_pool_that_nobody_ever_called_has_minutes_once_they_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    minutes_pass_in_seconds(monkeypatch)
    idle_minutes_close_at_once(monkeypatch)
    pool = make_pool(WINDOW)
    services.keep_minutes()
    time.sleep(2.5)
    rows = UsageMinute.objects.filter(pool_id=pool.pk, workload_class="nightly")
    assert len(rows) >= 1
    assert {row.offered for row in rows} == {0}


def test_an_idle_writer_holds_no_lock_when_a_newer_version_keeps_the_balances(
    monkeypatch: pytest.MonkeyPatch, quiet: None
) -> None:
    idle_minutes_close_at_once(monkeypatch)
    pool = make_pool(WINDOW)
    admit("adjuster", 100)
    newest = PoolState.objects.filter(pool_id=pool.pk).latest("seq")
    document = bytes(newest.state).replace(b'"format":1', b'"format":99')
    PoolState.objects.create(
        pool_id=pool.pk, seq=newest.seq + 1, at=datetime.now(UTC), state=document
    )
    time.sleep(0.7)
    for _ in range(5):
        with transaction.atomic():
            PoolLock.objects.select_for_update(nowait=True).get(pool_id=pool.pk)
        time.sleep(0.05)


def test_a_decision_after_idle_minutes_is_re_run_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    minutes_pass_in_seconds(monkeypatch)
    idle_minutes_close_at_once(monkeypatch)
    pool = make_pool(shares={"adjuster": 40})
    admit("nightly", 30_000)
    time.sleep(2.3)
    admit("nightly", 31_000)
    admit("adjuster", 31_000)
    first = PoolState.objects.filter(pool_id=pool.pk, kept=True).earliest("seq")
    again = rerun(pool.pk, first.seq)
    assert (again.decisions, again.differences) == (2, [])
    newest = PoolState.objects.filter(pool_id=pool.pk).latest("seq")
    assert again.balances == decode_balances(bytes(newest.state)).pool


def test_a_closed_minute_says_whose_floor_was_used(monkeypatch: pytest.MonkeyPatch) -> None:
    minutes_pass_in_seconds(monkeypatch)
    make_pool(WINDOW, shares={"adjuster": 40, "nightly": 50})
    admit("adjuster", 12_000)
    time.sleep(1)
    admit("rescore", 1)
    rows = {row.workload_class: row for row in UsageMinute.objects.all()}
    assert (rows["adjuster"].floor_tokens, rows["adjuster"].borrowed_tokens) == (8000, 2000)
    assert rows["nightly"].lent_tokens == 2000


def test_a_state_of_each_minute_is_kept_also_where_the_policy_was_edited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    minutes_pass_in_seconds(monkeypatch)
    pool = make_pool(WINDOW, shares={"adjuster": 40})
    admit("adjuster")
    time.sleep(1)
    Reservation.objects.update(share_percent=50)
    time.sleep(0.1)
    admit("adjuster")
    admit("adjuster")
    kept = PoolState.objects.filter(pool_id=pool.pk, kept=True)
    assert len({f"{row.at:%H:%M:%S}" for row in kept}) == kept.count() == 2


def test_a_lapsed_lease_counts_as_used_until_it_is_corrected() -> None:
    WorkloadClass.objects.update(max_call_seconds=1)
    make_pool(WINDOW)
    late = admit(tokens=1000)
    time.sleep(1.1)
    admit("nightly")
    (minute,) = usage("adjuster")
    assert minute["used_tokens"] == 1000
    settle(late.id, 400)
    assert sum(minute["used_tokens"] for minute in usage("adjuster")) == 400


def minutes_pass_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the minute of usage, not that of any limit."""
    for module in ("balances", "batch", "session"):
        monkeypatch.setattr(
            f"budget.ledger.{module}.minute_of", lambda micros: micros - micros % 1_000_000
        )


def idle_minutes_close_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let writers that wait look again soon."""
    monkeypatch.setattr("budget.ledger.writer._seconds_of_minute", lambda clock: 0.2)
    monkeypatch.setattr("budget.ledger.writer.LAG", (0.0, 0.0))
