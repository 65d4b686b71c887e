"""What Prometheus is told of pools, classes and queues."""

import math
import threading

import pytest
from prometheus_client import CollectorRegistry

from budget import services
from budget.metrics import collector
from budget.metrics.collector import LedgerCollector
from budget.metrics.reading import THREAD
from budget.models import Limit, Pool, Reservation, UsageTotal, WorkloadClass
from budget.providers.standing import ProviderLimit as Said
from budget.providers.standing import Standing
from budget.rule.decision import REASONS
from tests.jobs.clock import Clock, clock
from tests.jobs.queueing import enqueue, finish, take, take_one
from tests.ledger.disturbances import eventually
from tests.ledger.pools import TOKENS_A_MINUTE, WIDE_WINDOW, admit, make_classes, make_pool, settle
from tests.metrics.scrape import scrape

__all__ = ["clock"]

WINDOW = "total_tokens/sliding_window"


@pytest.fixture(autouse=True)
def pool() -> Pool:
    """A window of 100,000 tokens, of which adjusters have half."""
    make_classes()
    return make_pool(
        WIDE_WINDOW,
        {"unit": "requests", "algorithm": "gauge", "amount": 40},
        shares={"adjuster": 50},
    )


def test_calls_and_tokens_are_counted_exactly() -> None:
    for used in (600, 1000, 1300):
        settle(admit(tokens=1000).id, used)
    assert not admit("nightly", 60_000).admitted
    told = scrape()
    assert told("budget_up") == 1
    assert told.of("budget_calls_offered_total") == 3
    assert told.of("budget_calls_admitted_total") == 3
    assert told.of("budget_tokens_estimated_total") == 3000
    assert told.of("budget_tokens_used_total") == 2900
    assert told.of("budget_tokens_refunded_total") == 400
    assert told.of("budget_tokens_overrun_total") == 300
    assert told.of("budget_calls_shed_total", "nightly", reason="never_fits") == 1
    assert told.of("budget_calls_admitted_total", "nightly") == 0


def test_every_reason_is_counted_from_nothing_on() -> None:
    """Prometheus takes no counter that appears for one that rose."""
    told = scrape()
    for slug in ("adjuster", "rescore", "nightly"):
        for reason in REASONS:
            assert told.of("budget_calls_shed_total", slug, reason=reason) == 0


def test_counts_go_on_over_the_end_of_a_minute(clock: Clock) -> None:
    for minute in range(1, 4):
        settle(admit().id, 900)
        assert scrape().of("budget_calls_offered_total") == minute
        clock.forward(61)
        assert scrape().of("budget_tokens_used_total") == 900 * minute


def test_no_counter_falls_when_an_expired_lease_is_settled_after_all(clock: Clock) -> None:
    call = admit(tokens=1000)
    clock.forward(121)
    admit()
    before = scrape()
    assert before.of("budget_leases_expired_total") == 1
    assert before.of("budget_tokens_used_total") == 1000
    settle(call.id, 300)
    after = scrape()
    assert all(after.counters[key] >= value for key, value in before.counters.items())
    used = after.of("budget_tokens_used_total") - after.of("budget_tokens_corrected_total")
    assert used == 300


def test_calls_without_a_tag_are_shown_as_untagged() -> None:
    admit(None)
    assert scrape().of("budget_calls_shed_total", "untagged", reason="untagged") == 1


def test_a_class_named_untagged_is_counted_together_with_them() -> None:
    """Two samples of the same labels would spoil the whole scrape."""
    admit(None)
    WorkloadClass.objects.create(slug="untagged", tier="bulk", deadline_seconds=60)
    admit("untagged")
    assert scrape().of("budget_calls_offered_total", "untagged") == 2


def test_what_observe_mode_would_shed_is_counted_apart(pool: Pool) -> None:
    Pool.objects.update(mode="observe")
    assert admit("nightly", 60_000).admitted
    told = scrape()
    assert told.of("budget_calls_would_shed_total", "nightly", reason="never_fits") == 1
    assert told.of("budget_calls_would_shed_total", "nightly", reason="headroom") == 0
    assert told.of("budget_calls_shed_total", "nightly", reason="never_fits") == 0
    assert told("budget_pool_mode", pool="claims", mode="observe") == 1
    assert told("budget_pool_mode", pool="claims", mode="enforce") == 0


def test_limits_tell_their_level_and_floors() -> None:
    admit("nightly", 20_000)
    admit(tokens=10_000)
    told = scrape()
    assert told("budget_limit_capacity", pool="claims", limit=WINDOW) == 100_000
    assert told("budget_limit_available", pool="claims", limit=WINDOW) == 70_000
    assert told.of("budget_floor_unspent", limit=WINDOW) == 40_000
    assert told.of("budget_floor_effective", limit=WINDOW) == 40_000
    assert told("budget_limit_held", pool="claims", limit="requests/gauge") == 2
    assert told("budget_limit_held", pool="claims", limit=WINDOW) is None


def test_a_level_in_debt_is_below_zero() -> None:
    Limit.objects.filter(algorithm="sliding_window").update(amount=16_000)
    settle(admit(tokens=16_000).id, 20_000)
    told = scrape()
    assert told("budget_limit_available", pool="claims", limit=WINDOW) == -4000
    assert told.of("budget_floor_effective", limit=WINDOW) == 0


def test_limits_of_the_batch_endpoint_are_told_apart(pool: Pool) -> None:
    Limit.objects.create(
        pool=pool, unit="total_tokens", algorithm="gauge", amount=7_000_000, of_batch=True
    )
    Pool.objects.update(batch=True)
    told = scrape()
    of_batch = {"pool": "claims", "limit": "batch total_tokens/gauge"}
    assert told("budget_limit_capacity", **of_batch) == 7_000_000
    assert told("budget_limit_held", **of_batch) == 0


def test_queues_tell_how_much_waits_and_for_how_long(clock: Clock) -> None:
    enqueue("nightly"), enqueue("nightly"), enqueue("nightly")
    clock.forward(90)
    take_one("bulk")
    told = scrape()
    assert told.of("budget_queue_depth", "nightly") == 2
    assert told.of("budget_queue_running", "nightly") == 1
    assert told.of("budget_queue_oldest_wait_seconds", "nightly") == pytest.approx(90, abs=2)
    assert told.of("budget_queue_state", "nightly", state="green") == 1
    assert told.of("budget_queue_state", "nightly", state="red") == 0


def test_what_is_not_known_is_left_out() -> None:
    told = scrape()
    assert told.of("budget_queue_depth", "nightly") == 0
    assert told.of("budget_queue_oldest_wait_seconds", "nightly") is None
    assert told.of("budget_queue_depth", "adjuster") is None, "it has no queue"


def test_dropped_jobs_are_counted(clock: Clock) -> None:
    enqueue(deadline_ms=10_000)
    clock.forward(11)
    take()
    assert scrape().of("budget_jobs_expired_total", "rescore") == 1


def test_no_value_is_beyond_all_measure() -> None:
    """Of a queue without bounds, a bucket in motion, a class nobody called."""
    make_pool(TOKENS_A_MINUTE, slug="other")
    WorkloadClass.objects.update(queue_limit=None, queue_tokens=None)
    enqueue(), finish(take_one())
    admit(pool="other")
    values = [v for (name, _), v in scrape().values.items() if name.startswith("budget_")]
    assert len(values) > 150
    assert all(math.isfinite(value) and abs(value) < 1e12 for value in values)


def test_pauses_are_shown(pool: Pool) -> None:
    WorkloadClass.objects.filter(slug="nightly").update(paused=True)
    told = scrape()
    assert told.of("budget_class_paused", "nightly") == 1
    assert told.of("budget_class_paused", "rescore") == 0
    assert told("budget_pool_paused", pool="claims") == 0
    assert told.of("budget_queue_state", "nightly", state="red") == 1
    Pool.objects.update(paused=True)
    assert scrape()("budget_pool_paused", pool="claims") == 1


def test_a_deleted_class_keeps_its_counts_and_nothing_else(clock: Clock) -> None:
    admit("nightly")
    clock.forward(61)
    admit()
    WorkloadClass.objects.get(slug="nightly").delete()
    admit()
    told = scrape()
    assert told.of("budget_calls_offered_total", "nightly") == 1
    assert all(name.endswith("_total") for name in told.labelled(workload_class="nightly"))


def test_a_deleted_pool_is_gone(pool: Pool) -> None:
    make_pool(slug="other")
    admit()
    Reservation.objects.all().delete()
    pool.delete()
    told = scrape()
    assert told("budget_up") == 1
    assert told.labelled(pool="claims") == set()
    assert told("budget_pool_paused", pool="other") == 0


def test_a_pool_without_limits_and_no_pool_at_all_are_fine(pool: Pool) -> None:
    Limit.objects.all().delete()
    assert scrape()("budget_pool_paused", pool="claims") == 0
    pool.delete()
    assert scrape()("budget_up") == 1


def test_labels_are_escaped(pool: Pool) -> None:
    """Slugs need none; what else got into the table spoils nothing."""
    odd = 'a "quoted" \\ line\nand <b>ünïcode</b> ' + "x" * 200
    UsageTotal.objects.create(
        pool_id=pool.pk, workload_class=odd, minute="2026-01-01T00:00:00Z", offered=7
    )
    assert scrape().of("budget_calls_offered_total", odd) == 7


def test_the_longest_names_are_told_whole() -> None:
    slug = "a" * 50
    WorkloadClass.objects.create(slug=slug, tier="bulk", deadline_seconds=60)
    make_pool(slug="b" * 50)
    assert scrape()("budget_class_paused", pool="b" * 50, workload_class=slug) == 0


def test_registering_does_not_read_the_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(collector, "read_pools")
    registry = CollectorRegistry(auto_describe=True)
    registry.register(LedgerCollector())
    with pytest.raises(ValueError, match="Duplicated"):
        registry.register(LedgerCollector())


def test_a_scrape_leaves_no_thread_behind() -> None:
    scrape()
    assert eventually(lambda: THREAD not in {t.name for t in threading.enumerate()})


def test_what_a_provider_says_is_told() -> None:
    told = scrape()
    assert told("budget_leaked_tokens_total", pool="claims", unit="total_tokens") == 0
    assert told("budget_leaked_tokens_total", pool="claims", unit="requests") is None
    assert told("budget_provider_limit", pool="claims", unit="total_tokens") is None
    assert told.of("budget_class_backoff", "nightly") == 0
    said = Standing((Said("total_tokens", 100_000, 0),), "busy", 60.0)
    leaked = services.observe("claims", said).leaked["total_tokens"]
    services.observe("claims", Standing(refusal="money"))
    told = scrape()
    assert told("budget_leaked_tokens_total", pool="claims", unit="total_tokens") == leaked
    assert told("budget_provider_limit", pool="claims", unit="total_tokens") == 100_000
    assert told.of("budget_class_backoff", "nightly") == 1
    assert told.of("budget_class_backoff", "rescore") == 0
    assert told("budget_pool_spend_cap_reached", pool="claims") == 1
    assert told("budget_pool_paused", pool="claims") == 1
