"""Who is shed, and for which of the closed set of reasons."""

import pytest

from budget.rule.decision import REASONS
from budget.rule.terms import SECOND
from tests.rule.pools import Driver, limit, pool, workload

CLASSES = (
    workload("adjuster", share=0.5),
    workload("rescore", share=0.2, lendable=0.7, headroom=0.05),
    workload("nightly", lendable=1.0, headroom=0.1),
)


def test_bulk_is_refused_first_then_near_line_then_interactive():
    driver = Driver(pool([limit(1000)], *CLASSES))
    order = []
    for slug in ("adjuster", "rescore", "nightly"):
        driver.offer(slug, 1)
    while len(order) < 3:
        for slug in ("nightly", "rescore", "adjuster"):
            if slug not in order and not driver.offer(slug, 5).admitted:
                order.append(slug)
    assert order == ["nightly", "rescore", "adjuster"]


def test_the_floor_is_there_when_its_owner_comes():
    driver = Driver(pool([limit(1000)], *CLASSES))
    while driver.offer("nightly", 10).admitted or driver.offer("rescore", 10).admitted:
        pass
    assert driver.offer("adjuster", 500).admitted


def test_a_looser_floor_is_lent_as_far_as_it_is_lendable():
    driver = Driver(
        pool([limit(1000)], workload("adjuster"), workload("rescore", share=0.4, lendable=0.5))
    )
    assert not driver.offer("adjuster", 801).admitted
    decision = driver.offer("adjuster", 800)
    assert decision.admitted
    assert (decision.drawn.borrowed, decision.drawn.lent) == (200, {"rescore": 200})


def test_the_part_of_a_floor_that_is_not_lent_cannot_be_borrowed_bit_by_bit():
    driver = Driver(
        pool([limit(1000)], workload("adjuster"), workload("rescore", share=0.4, lendable=0.7))
    )
    assert sum(driver.offer("adjuster", 10).admitted for _ in range(100)) == 88
    assert driver.offer("rescore", 120).admitted


def test_a_refused_call_uses_up_nothing_of_any_limit():
    driver = Driver(
        pool([limit(100), limit(10, unit="requests"), limit(2, "gauge", unit="requests")])
    )
    driver.offer("nightly", 90, 1, 1)
    assert driver.offer("nightly", 20, 1, 1).reason == "pool_exhausted"
    assert driver.level.meter.level == 10
    assert driver.state.levels[1].meter.level == 9
    assert driver.state.levels[2].total == 1


def test_a_token_only_limit_is_enforced_and_a_request_only_limit_too():
    assert not Driver(pool([limit(100)])).offer("nightly", 101).admitted
    requests = Driver(pool([limit(1, unit="requests")]))
    assert requests.offer("nightly", 1).admitted
    assert not requests.offer("nightly", 1).admitted


@pytest.mark.parametrize("algorithm", ["token_bucket", "sliding_window", "gauge"])
def test_a_class_without_a_reservation_has_no_hidden_cap(algorithm):
    driver = Driver(pool([limit(600, algorithm)]))
    assert driver.offer("nightly", 600).admitted


def test_a_call_that_can_never_fit_is_told_so_at_once():
    driver = Driver(pool([limit(1000)], *CLASSES))
    decision = driver.offer("nightly", 301)
    assert (decision.reason, decision.limit) == ("never_fits", "total_tokens/token_bucket")
    assert not decision.retryable


def test_headroom_counts_only_while_a_stricter_class_is_at_work():
    driver = Driver(pool([limit(1000)], *CLASSES))
    assert driver.offer("nightly", 300).admitted
    driver.wait(3600).offer("adjuster", 1)
    assert driver.offer("nightly", 290).reason == "headroom"
    assert driver.wait(31).offer("nightly", 290).admitted


def test_a_class_yields_beyond_its_floor_once_interactive_floors_are_spent():
    driver = Driver(
        pool(
            [limit(1000)],
            workload("adjuster", share=0.5),
            workload("nightly", share=0.1, yields_above=0.8),
        )
    )
    driver.offer("adjuster", 390)
    assert driver.offer("nightly", 120).admitted
    driver.offer("adjuster", 10)
    assert driver.offer("nightly", 120).reason == "yielding"


def test_a_paused_class_and_a_paused_pool_shed_even_in_observe_mode():
    paused = pool([limit()], workload("nightly", paused=True), mode="observe")
    decision = Driver(paused).offer("nightly", 1)
    assert (decision.admitted, decision.reason) == (False, "paused")
    assert Driver(pool([limit()], paused=True)).offer("nightly", 1).reason == "paused"


def test_callers_of_a_paused_class_are_spread_over_half_a_minute():
    driver = Driver(pool([limit()], workload("nightly", paused=True)))
    moments = [driver.offer("nightly", 1).retry_after_ms for _ in range(20)]
    assert len(set(moments)) > 10
    assert all(30_000 <= moment < 60_000 for moment in moments)


def test_an_untagged_call_is_shed_and_not_retryable():
    decision = Driver(pool([limit()])).offer(None, 1)
    assert (decision.reason, decision.retryable) == ("untagged", False)


def test_a_call_past_its_deadline_is_shed_as_unmeetable():
    decision = Driver(pool([limit()])).offer("nightly", 1, deadline=-1)
    assert (decision.reason, decision.retryable) == ("deadline_unmeetable", False)


def test_a_provider_that_wants_no_calls_gets_none_until_it_said():
    driver = Driver(pool([limit()]))
    driver.state.backoff_until[0] = driver.state.at + 7 * SECOND
    decision = driver.offer("nightly", 1)
    assert (decision.reason, decision.retry_after_ms) == ("provider_backoff", 7000)
    assert driver.wait(7).offer("nightly", 1).admitted


def test_the_earlier_reason_is_told_when_several_hold():
    driver = Driver(pool([limit(100), limit(5, unit="requests")], workload("nightly", paused=True)))
    assert driver.offer("nightly", 1000, 100, deadline=-1).reason == "paused"
    assert REASONS.index("paused") == 0


def test_observe_mode_admits_says_why_it_would_not_and_charges_nothing():
    driver = Driver(pool([limit(100)], mode="observe"))
    assert driver.offer("nightly", 90).would_be is None
    decision = driver.offer("nightly", 20)
    assert (decision.admitted, decision.would_be, decision.charges) == (True, "pool_exhausted", [])
    assert driver.level.meter.level == 10


def test_a_floor_can_be_switched_off_on_one_limit():
    requests = limit(10, "gauge", unit="requests")
    kept = workload("adjuster", share=0.5, except_limits=("requests/gauge",))
    driver = Driver(pool([limit(1000), requests], kept, workload("nightly")))
    assert all(driver.offer("nightly", 1, 1).admitted for _ in range(10))


def test_the_arithmetic_adds_up():
    driver = Driver(pool([limit(1000)], *CLASSES))
    driver.offer("adjuster", 100)
    numbers = driver.offer("nightly", 250).standings[0]
    assert numbers.available == 900
    assert numbers.protected == {"adjuster": 400, "rescore": 200}
    assert numbers.free == 300
    assert numbers.headroom == pytest.approx(30)
    assert numbers.interactive_floors_spent == pytest.approx(0.2)
