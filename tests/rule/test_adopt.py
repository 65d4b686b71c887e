"""What was used stays used when the policy is edited."""

import pytest

from budget.rule.adopt import adopt
from budget.rule.terms import SECOND
from tests.rule.pools import Driver, limit, pool, workload


def edited(driver, terms, after=0):
    driver.state = adopt(driver.terms, driver.state, terms, driver.state.at + after * SECOND)
    driver.terms = terms
    return driver


def test_a_lowered_limit_takes_effect_at_once():
    driver = edited(Driver(pool([limit(600)])), pool([limit(100)]))
    assert driver.level.meter.level == 100


def test_a_raised_limit_fills_by_refill():
    driver = edited(Driver(pool([limit(100)])), pool([limit(600)]))
    assert driver.level.meter.level == 100
    assert driver.wait(10).level.meter.level == 200


def test_an_edit_long_ago_counts_from_when_it_was_made():
    driver = edited(Driver(pool([limit(100)])), pool([limit(600)]))
    assert driver.wait(3600).offer("nightly", 600).admitted


def test_an_idle_pool_is_first_refilled_under_the_terms_it_had():
    driver = Driver(pool([limit(600)]))
    driver.offer("nightly", 600)
    edited(driver, pool([limit(60)]), after=5)
    assert driver.level.meter.level == pytest.approx(50)


def test_a_new_floor_is_filled_from_the_unreserved_part():
    driver = Driver(pool([limit(600)], workload("adjuster"), workload("nightly")))
    driver.offer("nightly", 100)
    edited(driver, pool([limit(600)], workload("adjuster", share=0.5), workload("nightly")))
    assert driver.level.credits[0] == 200
    assert driver.wait(10).level.credits[0] == 300


def test_a_class_keeps_its_numbers_when_others_come_and_go():
    driver = Driver(pool([limit(600, "sliding_window")], workload("rescore"), workload("nightly")))
    driver.offer("nightly", 100)
    driver.offer("rescore", 50)
    edited(
        driver,
        pool([limit(600, "sliding_window")], workload("adjuster"), workload("nightly")),
    )
    assert driver.level.by_class == [0, 100]
    assert driver.level.total == 150
    assert driver.wait(61).level.total == 0


def test_a_window_of_another_length_keeps_what_was_charged():
    driver = Driver(pool([limit(600, "sliding_window")]))
    driver.offer("nightly", 500)
    edited(driver, pool([limit(600, "sliding_window", per=10)]))
    assert not driver.offer("nightly", 200).admitted
    assert driver.wait(10.5).offer("nightly", 600).admitted


def test_a_charge_that_no_longer_counted_is_not_refunded_into_a_longer_window():
    driver = Driver(pool([limit(1000, "sliding_window", per=1)]))
    gone = driver.offer("nightly", 900)
    edited(driver.wait(2), pool([limit(1000, "sliding_window", per=600)]))
    assert driver.offer("nightly", 1000).admitted
    driver.settle("nightly", gone, None)
    assert not driver.offer("nightly", 900).admitted


def test_what_a_gauge_holds_is_kept():
    driver = Driver(pool([limit(2, "gauge", unit="requests")]))
    driver.offer("nightly", 1)
    edited(driver, pool([limit(1, "gauge", unit="requests")]))
    assert not driver.offer("nightly", 1).admitted


def test_promises_move_with_their_class():
    driver = Driver(pool([limit(600)], workload("adjuster"), workload("nightly")))
    driver.offer("nightly", 600)
    driver.offer("nightly", 10, key="a")
    edited(driver, pool([limit(5, unit="requests"), limit(600)], workload("nightly")))
    promise = driver.state.promises["a"]
    assert (promise.workload_class, promise.costs) == (0, (0, 10))
