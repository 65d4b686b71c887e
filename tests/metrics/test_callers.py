"""What Prometheus is told of processes that call, of untagged calls, and of calls while away."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.utils import timezone

from budget import services
from budget.models import AwayReport, Call, CallerProcess, Pool, WorkloadClass
from budget.services import AwayReport as Report
from tests.jobs.clock import Clock, clock
from tests.ledger.pools import WIDE_WINDOW, admit, make_classes, make_pool
from tests.metrics.scrape import scrape

__all__ = ["clock"]


@pytest.fixture(autouse=True)
def pool() -> Pool:
    make_classes()
    return make_pool(WIDE_WINDOW)


def report(workload_class: str | None = "adjuster", **changes: Any) -> Report:
    told: dict[str, Any] = {
        "report": uuid4(),
        "workload_class": workload_class,
        "choice": "local",
        "admitted": 7,
        "shed": 3,
        "input_tokens": 600,
        "output_tokens": 70,
        "first_at_ms_ago": 2000,
        "last_at_ms_ago": 1000,
    }
    return Report(**told | changes)


def test_untagged_calls_are_counted_whether_shed_or_let_in(pool: Pool, clock: Clock) -> None:
    assert scrape()("budget_untagged_calls_total", pool="claims") == 0
    admit(None)
    clock.forward(61)
    pool.untagged_class = WorkloadClass.objects.get(slug="nightly")
    pool.save()
    admit(None)
    admit("nightly")
    assert scrape()("budget_untagged_calls_total", pool="claims") == 2
    Call.objects.all().delete()
    clock.forward(61)
    admit()
    assert scrape()("budget_untagged_calls_total", pool="claims") == 2


def test_processes_count_while_they_are_heard_of() -> None:
    for _ in range(2):
        services.hear("claims", uuid4())
    assert scrape()("budget_caller_processes", pool="claims") == 2
    CallerProcess.objects.update(seen_at=timezone.now() - timedelta(seconds=91))
    assert scrape()("budget_caller_processes", pool="claims") == 0


def test_what_was_decided_while_away_is_counted_once() -> None:
    told = report()
    for _ in range(2):
        services.hear("claims", uuid4(), away=[told, report("nightly", choice="shed", admitted=0)])
    now = scrape()
    adjuster = {"choice": "local"}
    assert now.of("budget_away_calls_total", decision="admitted", **adjuster) == 7
    assert now.of("budget_away_calls_total", decision="shed", **adjuster) == 3
    assert now.of("budget_away_tokens_total", **adjuster) == 670
    assert now.of("budget_away_calls_total", "nightly", choice="shed", decision="shed") == 6


def test_it_is_counted_from_nothing_on() -> None:
    now = scrape()
    for slug in ("adjuster", "nightly", "untagged"):
        for choice in ("admit", "shed", "local"):
            assert now.of("budget_away_tokens_total", slug, choice=choice) == 0
            assert now.of("budget_away_calls_total", slug, choice=choice, decision="shed") == 0


def test_nobody_makes_up_labels_but_the_policy() -> None:
    services.hear("claims", uuid4(), away=[report("made-up"), report(None)])
    now = scrape()
    assert now.of("budget_away_tokens_total", "untagged", choice="local") == 1340
    assert "made-up" not in now.text


def test_no_counter_falls_when_reports_are_pruned_or_a_class_is_deleted() -> None:
    services.hear("claims", uuid4(), away=[report(), report("nightly")])
    before = scrape()
    old = timezone.now() - timedelta(days=100)
    AwayReport.objects.update(received_at=old, at=old)
    call_command("prune_calls")
    WorkloadClass.objects.get(slug="nightly").delete()
    assert not AwayReport.objects.exists()
    after = scrape()
    counted = {key for key, value in before.counters.items() if value}
    assert len(counted) == 6
    assert all(after.counters[key] == before.counters[key] for key in counted)
