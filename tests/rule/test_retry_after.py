"""Retry-After is the moment the call would fit: not earlier, not later, not for a herd."""

import pytest

from budget.rule.retry_after import MOST_PROMISES
from tests.rule.pools import Driver, limit, pool, workload


def probe(driver, decision, slug, *costs):
    """Whether the call fits 1 ms before its moment, and at it."""
    driver.wait(0, decision.retry_after_ms - 1)
    early = driver.offer(slug, *costs, key="probe").admitted
    return early, driver.wait(0, 1).offer(slug, *costs, key="probe").admitted


@pytest.mark.parametrize("algorithm", ["token_bucket", "sliding_window"])
@pytest.mark.parametrize("slug", ["adjuster", "rescore", "nightly"])
def test_the_moment_is_the_first_at_which_the_call_fits(algorithm, slug):
    classes = (
        workload("adjuster", share=0.3, deadline=600),
        workload("rescore", share=0.2, lendable=0.5, headroom=0.05),
        workload("nightly", lendable=1.0, headroom=0.1, yields_above=0.7),
    )
    driver = Driver(pool([limit(6000, algorithm), limit(100, unit="requests")], *classes))
    while driver.offer(slug, 700, 1, key="probe").admitted:
        driver.wait(1)
    decision = driver.wait(0, 777).offer(slug, 700, 1, key="probe")
    assert decision.retry_after_ms > 0
    assert probe(driver, decision, slug, 700, 1) == (False, True)


def test_it_is_never_zero_or_past():
    driver = Driver(pool([limit(60_000_000)]))
    driver.offer("nightly", 60_000_000)
    assert driver.offer("nightly", 1).retry_after_ms == 1


def test_callers_refused_together_come_back_one_after_another():
    driver = Driver(pool([limit(600)]))
    driver.offer("nightly", 600)
    moments = [driver.offer("nightly", 30).retry_after_ms for _ in range(20)]
    assert moments == [3000 * (i + 1) for i in range(20)]


def test_callers_beyond_the_kept_promises_are_spread():
    driver = Driver(pool([limit(600)]))
    driver.offer("nightly", 600)
    for _ in range(MOST_PROMISES):
        driver.offer("nightly", 1)
    moments = [driver.offer("nightly", 1).retry_after_ms for _ in range(50)]
    assert len(driver.state.promises) == MOST_PROMISES
    assert len(set(moments)) > 40


def test_a_stricter_caller_does_not_wait_for_looser_promises():
    driver = Driver(pool([limit(600)], workload("adjuster", deadline=60), workload("nightly")))
    driver.offer("nightly", 600)
    for _ in range(5):
        driver.offer("nightly", 50)
    assert driver.offer("adjuster", 50).retry_after_ms == 5000


def test_a_promise_lapses_on_return_a_second_after_its_moment_and_at_the_deadline():
    driver = Driver(pool([limit(600)]))
    driver.offer("nightly", 600)
    assert driver.offer("nightly", 10, key="a").retry_after_ms == 1000
    assert driver.offer("nightly", 10, key="b").retry_after_ms == 2000
    assert driver.offer("nightly", 10, key="b").retry_after_ms == 2000
    assert driver.wait(1).offer("nightly", 10, key="a").admitted
    assert set(driver.state.promises) == {"b"}
    assert not driver.wait(2.001).state.promises


def test_a_caller_that_comes_back_early_keeps_its_place():
    driver = Driver(pool([limit(600)]))
    driver.offer("nightly", 600)
    first = [driver.offer("nightly", 130, key=key).retry_after_ms for key in "abc"]
    assert first == [13_000, 26_000, 39_000]
    driver.wait(1)
    assert [driver.offer("nightly", 130, key=key).retry_after_ms for key in "cab"] == [
        38_000,
        12_000,
        25_000,
    ]


def test_a_moment_beyond_the_deadline_is_not_retryable():
    driver = Driver(pool([limit(600)], workload("adjuster", deadline=5)))
    driver.offer("adjuster", 600)
    late, soon = driver.offer("adjuster", 60), driver.offer("adjuster", 40)
    assert (late.retryable, late.retry_after_ms) == (False, None)
    assert (soon.retryable, soon.retry_after_ms) == (True, 4000)


def test_a_full_gauge_does_not_make_every_interactive_refusal_final():
    gauge = limit(4, "gauge", unit="requests")
    driver = Driver(pool([gauge], workload("adjuster", deadline=5)))
    leases = [driver.offer("adjuster", 1) for _ in range(4)]
    assert driver.offer("adjuster", 1).retryable
    driver.wait(8)
    driver.settle("adjuster", leases[0], {})
    driver.offer("adjuster", 1)
    decision = driver.offer("adjuster", 1)
    assert (decision.reason, decision.retry_after_ms) == ("pool_exhausted", 2000)


def test_a_gauge_blocked_only_by_headroom_opens_when_the_stricter_class_has_gone():
    gauge = limit(10, "gauge", unit="requests")
    driver = Driver(
        pool([gauge], workload("adjuster"), workload("nightly", headroom=0.5)),
    )
    driver.offer("adjuster", 1)
    decision = driver.offer("nightly", 6)
    assert (decision.reason, decision.retry_after_ms) == ("headroom", 30_000)


def test_all_limits_must_hold_at_once():
    driver = Driver(pool([limit(600), limit(60, unit="requests")]))
    driver.offer("nightly", 600, 60)
    assert driver.offer("nightly", 10, 30).retry_after_ms == 30_000


def test_promised_calls_on_a_window_are_waited_out():
    driver = Driver(pool([limit(600, "sliding_window")]))
    driver.offer("nightly", 600)
    moments = [driver.offer("nightly", 250, key=key).retry_after_ms for key in "abc"]
    assert moments == [61_000, 61_000, 122_000]
    driver.wait(61)
    assert driver.offer("nightly", 250, key="a").admitted
    assert driver.offer("nightly", 250, key="b").admitted
    assert driver.wait(61).offer("nightly", 250, key="c").admitted


def test_a_gauge_with_headroom_may_open_before_the_stricter_class_has_gone():
    gauge = limit(10, "gauge", unit="requests")
    driver = Driver(pool([gauge], workload("adjuster"), workload("nightly", headroom=0.5)))
    driver.offer("adjuster", 1)
    for _ in range(4):
        assert driver.offer("nightly", 1).admitted
    decision = driver.offer("nightly", 1)
    assert (decision.reason, decision.retry_after_ms) == ("headroom", 400)
