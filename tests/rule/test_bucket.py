"""Floors as stock: what idles stays full, and all refill passes to whoever calls."""

import pytest

from tests.rule.pools import Driver, limit, pool, workload


def drained(*classes, amount=600):
    """A bucket of 600 a minute, ten a second, drained by nightly as far as it may."""
    driver = Driver(pool([limit(amount)], *classes))
    driver.offer("nightly", 300)
    return driver


def test_five_parallel_calls_never_get_more_than_fits():
    for amount, fits in ((100, 0), (600, 4)):
        driver = Driver(pool([limit(amount)]))
        admitted = [driver.offer("nightly", 130).admitted for _ in range(5)]
        assert sum(admitted) == fits


def test_an_idle_floor_costs_others_none_of_the_flow():
    driver = drained(workload("adjuster", share=0.5), workload("nightly"))
    for _ in range(60):
        driver.wait(1)
        assert driver.offer("nightly", 10).admitted
        assert not driver.offer("nightly", 1).admitted
    assert driver.level.credits == [300, 0]


def test_what_others_may_use_never_falls_by_waiting():
    driver = Driver(
        pool([limit()], workload("adjuster", share=0.5), workload("nightly", lendable=0.0))
    )
    driver.offer("adjuster", 300)
    free = []
    for _ in range(100):
        driver.wait(0.5)
        free.append(driver.offer("nightly", 601).standings[0].free)
    assert free == sorted(free)


def test_a_credit_regains_its_share_of_the_flow_while_the_rest_is_drained():
    driver = drained(workload("adjuster", share=0.5), workload("nightly"))
    driver.offer("adjuster", 300)
    driver.wait(10)
    assert driver.level.meter.level == pytest.approx(100)
    assert driver.level.credits[0] == pytest.approx(50)


def test_a_credit_takes_all_refill_once_the_unreserved_part_is_full():
    driver = Driver(pool([limit()], workload("adjuster", share=0.5), workload("nightly")))
    driver.offer("adjuster", 300)
    driver.wait(10)
    assert driver.level.credits[0] == pytest.approx(100)


def test_a_full_bucket_has_full_credits():
    driver = drained(
        workload("adjuster", share=0.3), workload("rescore", share=0.3), workload("nightly")
    )
    driver.offer("adjuster", 150)
    driver.offer("rescore", 150)
    driver.wait(3600)
    assert driver.level.meter.level == 600
    assert driver.level.credits == [180, 180, 0]


def test_an_overrun_is_borne_first_by_the_class_that_caused_it():
    driver = Driver(pool([limit()], workload("adjuster", share=0.5), workload("nightly")))
    decision = driver.offer("adjuster", 100)
    driver.settle("adjuster", decision, {"total_tokens": 150})
    assert driver.level.meter.level == 450
    assert driver.level.credits[0] == 150


def test_an_overrun_beyond_the_level_is_debt():
    driver = Driver(pool([limit()]))
    decision = driver.offer("nightly", 100)
    driver.settle("nightly", decision, {"total_tokens": 800})
    assert driver.level.meter.level == -200


def test_a_credit_regains_at_most_what_the_charge_took_from_it():
    driver = Driver(pool([limit()], workload("adjuster", share=0.1), workload("nightly")))
    decision = driver.offer("adjuster", 200)
    assert decision.charges[0].taken == 60
    driver.settle("adjuster", decision, {"total_tokens": 150})
    assert driver.level.credits[0] == 50


def test_a_ceiling_is_a_second_smaller_bucket():
    driver = Driver(pool([limit()], workload("nightly", ceiling=0.25)))
    assert driver.offer("nightly", 150).admitted
    refused = driver.offer("nightly", 25)
    assert (refused.reason, refused.retry_after_ms) == ("ceiling", 10_000)
    assert not driver.wait(9, 999).offer("nightly", 25).admitted
    assert driver.wait(0, 1).offer("nightly", 25).admitted
