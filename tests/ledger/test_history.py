"""Usage in steps: exact, a gap where nothing is known, and zero where nobody called."""

import random
import time
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from django.db import connection

from budget import services
from budget.ledger.history_rows import HOUR
from budget.models import Call, Pool, Reservation, UsageHour, UsageMinute, UsageTotal
from budget.services import UsageHistory
from tests.ledger.pools import admit, make_pool, settle

pytestmark = pytest.mark.usefixtures("classes")

MINUTE = timedelta(minutes=1)
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TINY = {"unit": "total_tokens", "algorithm": "sliding_window", "amount": 5000}


def recorded(pool: Pool, minute: datetime, slug: str = "adjuster", **fields: Any) -> None:
    UsageMinute.objects.create(
        pool_id=pool.pk, workload_class=slug, minute=minute, allowance=600_000, **fields
    )


def history(start: datetime, minutes: int, step: timedelta = MINUTE) -> UsageHistory:
    return services.usage_history("claims", start, start + minutes * MINUTE, step)


def lately(minutes: int = 5) -> UsageHistory:
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    return history(now - (minutes - 1) * MINUTE, minutes)


def test_each_step_has_its_numbers() -> None:
    pool = make_pool()
    recorded(pool, START, offered=5, admitted=3, shed={"headroom": 1, "ceiling": 1})
    recorded(pool, START + MINUTE, offered=2, admitted=2)
    recorded(pool, START, "nightly", offered=9, shed={"headroom": 9}, queue_depth=4)
    found = history(START, 2)
    adjuster, nightly = found.classes["adjuster"], found.classes["nightly"]
    assert adjuster.columns["offered"] == [5, 2]
    assert adjuster.shed == {"headroom": [1, 0], "ceiling": [1, 0]}
    assert nightly.columns["offered"] == [9, 0], "the pool's minute is known, so it made no call"
    assert nightly.columns["queue_depth"] == [4, None]
    assert found.allowance == [600_000, 600_000]
    assert (adjuster.total("offered"), adjuster.shed_total()) == (7, {"headroom": 1, "ceiling": 1})
    assert found.unit == "total_tokens"


def test_a_minute_that_nobody_recorded_is_a_gap_and_no_zero() -> None:
    pool = make_pool()
    recorded(pool, START, offered=5, shed={"headroom": 5})
    recorded(pool, START + 2 * MINUTE)
    found = history(START, 4)
    assert found.classes["adjuster"].columns["offered"] == [5, None, 0, None]
    assert found.classes["adjuster"].shed["headroom"] == [5, None, 0, None]
    assert found.allowance == [600_000, None, 600_000, None]


def test_long_steps_add_minutes_up() -> None:
    pool = make_pool()
    for n in range(10):
        recorded(pool, START + n * MINUTE, offered=1, shed={"headroom": n}, queue_depth=n)
    found = history(START, 10, 5 * MINUTE)
    assert found.classes["adjuster"].columns["offered"] == [5, 5]
    assert found.classes["adjuster"].shed["headroom"] == [10, 35]
    assert found.classes["adjuster"].columns["queue_depth"] == [4, 9], "the most there was"
    assert found.allowance == [3_000_000, 3_000_000]
    assert found.times == [START, START + 5 * MINUTE]


def test_only_the_pool_and_the_time_asked_for_are_seen() -> None:
    pool, other = make_pool(), make_pool(slug="other")
    recorded(pool, START - MINUTE, offered=1)
    recorded(pool, START + MINUTE, offered=2)
    recorded(other, START, offered=3)
    assert history(START, 1).classes == {}


def test_the_open_minute_is_in_it() -> None:
    make_pool()
    admit("adjuster", 1000)
    admit("adjuster", 700_000)
    found = lately()
    assert sum(n or 0 for n in found.classes["adjuster"].columns["offered"]) == 2
    assert found.classes["adjuster"].shed_total() == {"never_fits": 1}
    assert found.classes["nightly"].total("offered") == 0
    assert [n for n in found.allowance if n is not None] == [600_000]


def test_a_pool_nobody_called_has_no_history() -> None:
    make_pool()
    assert lately().allowance[:-1] == [None] * 4


def test_a_minute_that_has_just_begun_is_known_before_anybody_calls() -> None:
    make_pool()
    admit("adjuster", 1000)
    while datetime.now(UTC).second:
        time.sleep(0.2)
    found = lately(2)
    assert found.minutes == [1, 1]
    assert sorted(found.classes["adjuster"].columns["offered"]) == [0, 1]


def test_amounts_of_another_leading_limit_are_left_out() -> None:
    pool = make_pool()
    named = {"leading_limit": "total_tokens/token_bucket"}
    recorded(pool, START, offered=5, charged=500, leading_limit="requests/token_bucket")
    recorded(pool, START + MINUTE, offered=7, charged=7000, **named)
    found = history(START, 2)
    adjuster = found.classes["adjuster"]
    assert adjuster.columns["offered"] == [5, 7]
    assert adjuster.columns["charged"] == [None, 7000]
    assert found.allowance == [None, 600_000]
    assert found.minutes == [1, 1], "there is a record all the same"


def test_a_class_that_takes_the_place_of_another_adds_no_allowance() -> None:
    pool = make_pool()
    for n in range(4):
        recorded(pool, START + n * MINUTE, "adjuster" if n < 2 else "nightly", offered=1)
    found = history(START, 5, 5 * MINUTE)
    assert (found.minutes, found.allowance) == ([4], [2_400_000])


def test_history_counts_no_minute_twice_that_closes_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds_are_minutes(monkeypatch)
    make_pool(TINY)
    offered, until = 0, time.monotonic() + 3
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    while time.monotonic() < until:
        admit("adjuster", 700_000)
        offered += 1
        found = history(now - MINUTE, 10, 5 * MINUTE)
        adjuster = found.classes["adjuster"]
        assert adjuster.total("offered") == offered
        assert adjuster.shed_total() == {"never_fits": offered}


@pytest.mark.parametrize("minutes", [1, 5, 10, 60, 360])
def test_the_sums_are_the_same_at_every_step(minutes: int) -> None:
    pool, chance = make_pool(), random.Random(7)
    for n in range(0, 720, 7):
        for slug in ("adjuster", "nightly"):
            recorded(
                pool, START + n * MINUTE, slug, offered=chance.randrange(9),
                shed={"headroom": chance.randrange(5)}, used_tokens=chance.randrange(99),
                leading_limit="total_tokens/token_bucket",
            )  # fmt: skip
    fill_sums()
    found = history(START, 720, minutes * MINUTE)
    rows = UsageMinute.objects.filter(workload_class="nightly")
    nightly = found.classes["nightly"]
    assert nightly.total("offered") == sum(row.offered for row in rows)
    assert nightly.total("used_tokens") == sum(row.used_tokens for row in rows)
    assert nightly.shed_total() == {"headroom": sum(row.shed["headroom"] for row in rows)}
    assert sum(n or 0 for n in found.minutes) == len(rows)
    assert sum(n or 0 for n in found.allowance) == 600_000 * len(rows)


def test_a_migrated_past_adds_up_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds_are_minutes(monkeypatch)
    pool = make_pool(TINY, shares={"adjuster": 40})
    for n in range(3):
        for slug in ("adjuster", "nightly", None):
            admit(slug, 1000 + n)
        time.sleep(1)
    admit("adjuster")
    minutes = list(UsageMinute.objects.filter(pool_id=pool.pk))
    UsageHour.objects.all().delete()
    for _ in range(2):
        fill_sums()
        for sums in (UsageHour, UsageTotal):
            assert added_up(sums.objects.filter(pool_id=pool.pk)) == added_up(minutes)


def test_closed_minutes_add_up_by_hour_and_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds_are_minutes(monkeypatch)
    pool = make_pool(TINY, shares={"adjuster": 40})
    chance = random.Random(4)
    until = time.monotonic() + 3.5
    while time.monotonic() < until:
        tokens = chance.randrange(1, 400)
        call = admit(chance.choice(["adjuster", "rescore", "nightly", None]), tokens)
        if call.admitted:
            settle(call.id, chance.randrange(2 * tokens))
        time.sleep(0.01)
    minutes = list(UsageMinute.objects.filter(pool_id=pool.pk))
    assert len({row.minute for row in minutes}) >= 3
    for sums in (UsageHour, UsageTotal):
        rows = sums.objects.filter(pool_id=pool.pk)
        assert added_up(rows) == added_up(minutes)
        assert sum(row.untagged for row in rows) == sum(row.untagged for row in minutes)
    totals = services.usage_totals("claims")
    for slug, total in totals.items():
        calls = list(Call.objects.filter(pool_id=pool.pk, workload_class=slug))
        reasons = [call.reason for call in calls if call.state == "shed"]
        assert total.offered == len(calls)
        assert total.untagged == sum(call.untagged for call in calls)
        assert total.shed == {reason: reasons.count(reason) for reason in set(reasons)}
        assert total.used_tokens == sum(call.used_input_tokens or 0 for call in calls)
    assert sum(total.offered for total in totals.values()) > 100


def test_totals_do_not_count_a_minute_twice_that_closes_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds_are_minutes(monkeypatch)
    make_pool()
    offered, until = 0, time.monotonic() + 3
    seen = []
    while time.monotonic() < until:
        admit("adjuster", 1)
        offered += 1
        seen.append((offered, services.usage_totals("claims")["adjuster"].offered))
    assert all(counted == made for made, counted in seen)


def test_totals_outlive_their_minutes_and_fall_never() -> None:
    pool = make_pool()
    recorded(pool, START, offered=7)
    UsageTotal.objects.create(
        pool_id=pool.pk, workload_class="adjuster", minute=START, offered=7, shed={"headroom": 2}
    )
    UsageMinute.objects.all().delete()
    admit("adjuster")
    total = services.usage_totals("claims")["adjuster"]
    assert (total.offered, total.shed) == (8, {"headroom": 2})


def test_floors_are_those_that_held_at_the_time() -> None:
    pool = make_pool(shares={"adjuster": 40})
    admit()
    before = services.pool_view("claims")["policy_version"]
    time.sleep(0.05)
    Reservation.objects.filter(pool=pool).update(share_percent=60)
    admit()
    old, new = lately().floors[-2:]
    assert old.version == before
    assert old.per_minute["adjuster"] == pytest.approx(240_000)
    assert new.per_minute["adjuster"] == pytest.approx(360_000)
    assert old.at < new.at
    assert new.allowance == 600_000


def test_floors_of_today_hold_from_an_edit_on_also_before_anybody_calls() -> None:
    pool = make_pool(shares={"adjuster": 40})
    admit()
    Reservation.objects.filter(pool=pool).update(share_percent=60)
    soon = datetime.now(UTC).replace(second=0, microsecond=0) + MINUTE
    (floors,) = history(soon, 5).floors
    assert floors.per_minute["adjuster"] == pytest.approx(360_000)
    assert floors.at <= soon


def test_hours_are_read_from_their_sums() -> None:
    pool = make_pool()
    UsageHour.objects.create(
        pool_id=pool.pk,
        workload_class="nightly",
        hour=START,
        minute=START + 59 * MINUTE,
        offered=60,
        shed={"headroom": 6},
        allowance=36_000_000,
    )
    found = history(START, 12 * 60, 6 * HOUR)
    assert found.classes["nightly"].columns["offered"] == [60, None]
    assert found.classes["nightly"].shed == {"headroom": [6, None]}


def test_untagged_calls_that_were_shed_before_any_were_counted_are_counted() -> None:
    pool = make_pool()
    recorded(pool, START, "", offered=5, shed={"untagged": 5})
    recorded(pool, START, "nightly", offered=3, admitted=3)
    fill_sums()
    migration = import_module("budget.migrations.0007_untagged_index")
    for _ in range(2):
        with connection.cursor() as cursor:
            for table in migration.TABLES:
                cursor.execute(migration.COUNT_SHED.format(table=table))
    for kind in (UsageMinute, UsageHour, UsageTotal):
        found = kind.objects.values_list("workload_class", "untagged")
        assert dict(found) == {"": 5, "nightly": 0}


def fill_sums() -> None:
    """As `migrate` does for the minutes of before there were sums."""
    migration = import_module("budget.migrations.0005_usage_so_far")
    with connection.cursor() as cursor:
        cursor.execute(migration.add_up("budget_usagehour", by_hour=True))
        cursor.execute(migration.add_up("budget_usagetotal", by_hour=False))


def added_up(rows: Any) -> dict[str, Any]:
    """Sums by class, whatever the rows stand for."""
    found: dict[str, Any] = {}
    for row in rows:
        sums = found.setdefault(row.workload_class, {"reasons": {}, "numbers": [0] * 6})
        for reason, count in row.shed.items():
            sums["reasons"][reason] = sums["reasons"].get(reason, 0) + count
        numbers = (
            row.offered,
            row.admitted,
            row.used_tokens,
            row.charged,
            row.allowance,
            row.minutes,
        )
        sums["numbers"] = [a + b for a, b in zip(sums["numbers"], numbers, strict=True)]
    return found


def seconds_are_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the minute of usage, not that of any limit."""
    for module in ("balances", "batch", "session"):
        monkeypatch.setattr(
            f"budget.ledger.{module}.minute_of", lambda micros: micros - micros % 1_000_000
        )
