"""Hearing of processes: reports count once, also from many at a time, and whatever else goes on."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connections
from django.utils import timezone

from budget import services
from budget.models import AwayTotal, CallerProcess, Pool
from budget.services import AwayReport, BudgetError
from budget.services.callers import MOST_PROCESSES
from tests.ledger.pools import make_classes, make_pool


@pytest.fixture(autouse=True)
def _pool(committed: None) -> None:
    make_classes()
    make_pool()


def report(**changes: Any) -> AwayReport:
    told: dict[str, Any] = {
        "report": uuid4(),
        "workload_class": "adjuster",
        "choice": "local",
        "admitted": 1,
        "shed": 2,
        "input_tokens": 30,
        "output_tokens": 40,
        "first_at_ms_ago": 3_600_000,
        "last_at_ms_ago": 1_800_000,
    }
    return AwayReport(**told | changes)


def away(since: timedelta, until: timedelta = timedelta(0)) -> list[tuple[str, str, int, int, int]]:
    now = datetime.now(UTC)
    return [
        (row.workload_class, row.choice, row.admitted, row.shed, row.tokens)
        for row in services.away_calls("claims", now - since, now - until)
    ]


def test_many_processes_report_at_once_and_nothing_is_lost_or_counted_twice() -> None:
    reports = [report(workload_class=slug) for slug in ("adjuster", "rescore", "nightly", None) * 5]

    def hear(n: int) -> int:
        try:
            # Each in another order, as processes come: that makes for the worst of waiting.
            told = [*reports[n:], *reports[:n]]
            return services.hear("claims", uuid4(), away=told).processes
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as threads:
        heard = list(threads.map(hear, range(16)))
    assert max(heard) == CallerProcess.objects.count() == 16
    assert set(AwayTotal.objects.values_list("workload_class", "admitted", "shed")) == {
        (slug, 5, 10) for slug in ("adjuster", "rescore", "nightly", "")
    }


def test_a_key_that_makes_up_processes_is_counted_for_a_thousand_of_them_at_most() -> None:
    inventor, other = services.Caller("inventor"), services.Caller("other")
    services.hear("claims", uuid4(), caller=other)
    now, pool = timezone.now(), Pool.objects.get()
    CallerProcess.objects.bulk_create(
        CallerProcess(
            pool_id=pool.pk,
            process=uuid4(),
            key_prefix="inventor",
            seen_at=now - timedelta(milliseconds=n),
        )
        for n in range(MOST_PROCESSES)
    )
    oldest = CallerProcess.objects.filter(key_prefix="inventor").earliest("seen_at")

    told = [services.hear("claims", uuid4(), caller=inventor).processes for _ in range(2)]

    assert told == [MOST_PROCESSES + 1] * 2
    assert CallerProcess.objects.filter(key_prefix="other").exists()
    assert not CallerProcess.objects.filter(pk=oldest.pk).exists(), "the oldest go"


def test_reports_add_up_by_class_and_choice() -> None:
    told = [
        report(),
        report(shed=0),
        report(choice="shed", admitted=0),
        report(workload_class=None),
    ]
    services.hear("claims", uuid4(), away=told)
    assert away(timedelta(hours=2)) == [
        ("", "local", 1, 2, 70),
        ("adjuster", "local", 2, 2, 140),
        ("adjuster", "shed", 0, 2, 70),
    ]


def test_a_report_is_of_each_time_that_it_touches() -> None:
    services.hear("claims", uuid4(), away=[report()])
    minutes = timedelta(minutes=1)
    assert away(40 * minutes)
    assert away(90 * minutes, 50 * minutes)
    assert away(20 * minutes) == away(90 * minutes, 70 * minutes) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"choice": "wait"}, "choice: must be one of admit, shed, local"),
        ({"workload_class": "x" * 201}, "workload_class: must have 1 to 200 characters"),
        ({"admitted": -1}, "admitted: must lie between 0 and"),
        ({"shed": 1.5}, "shed: must be a whole number"),
        ({"first_at_ms_ago": 10**10}, "first_at_ms_ago: must lie between"),
        ({"first_at_ms_ago": 1}, "last_at_ms_ago: must not be longer ago than `first_at_ms_ago`"),
    ],
)
def test_code_in_this_process_is_told_what_cant_be(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BudgetError, match=rf"away\[0\]\.{said}"):
        services.hear("claims", uuid4(), away=[report(**changes)])
    with pytest.raises(BudgetError, match="away: has more than 100 reports"):
        services.hear("claims", uuid4(), away=[report() for _ in range(101)])
    assert not CallerProcess.objects.exists()
