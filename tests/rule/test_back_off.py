"""A busy provider is left alone by the loosest classes first."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.rule.observe import back_off
from budget.rule.terms import SECOND
from tests.rule.pools import Driver, limit, pool, workload

MINUTE, DAY = 60 * SECOND, 86_400 * SECOND

ALL = (workload("adjuster", share=0.5), workload("rescore"), workload("nightly"))


def put_off(
    driver: Driver,
    seconds: float | None = None,
    age: float = 0,
    strictest: int | None = None,
) -> dict[str, int]:
    """By class: for how long, in seconds from the driver's moment."""
    now = driver.state.at
    found = back_off(driver.terms, driver.state, seconds, now - int(age * SECOND), strictest)
    return {slug: -(-(until - now) // SECOND) for slug, until in found.items()}


@pytest.fixture
def driver() -> Driver:
    return Driver(pool([limit(600)], *ALL))


def test_the_loosest_tier_is_put_off_first(driver: Driver) -> None:
    assert put_off(driver) == {"nightly": 5}
    refused = driver.offer("nightly", 1)
    assert (refused.reason, refused.retry_after_ms) == ("provider_backoff", 5000)
    assert driver.offer("rescore", 1).admitted


def test_for_as_long_as_the_provider_says_within_reason(driver: Driver) -> None:
    assert put_off(driver, 20) == {"nightly": 20}
    assert put_off(driver, 86_400) == {"nightly": 300}
    assert put_off(driver, 7) == {}, "none is shortened"
    assert driver.offer("nightly", 1).retry_after_ms == 300_000


def test_reports_of_one_incident_widen_nothing(driver: Driver) -> None:
    put_off(driver, 30)
    for _ in range(9):
        driver.wait(0.1)
        assert put_off(driver, 30, age=0.05).keys() <= {"nightly"}
    driver.wait(3)
    assert put_off(driver, 30, age=3) == {}, "it was said before"


def test_while_it_goes_on_stricter_tiers_are_put_off_one_by_one(driver: Driver) -> None:
    put_off(driver, 30)
    assert put_off(driver.wait(1), 30) == {"rescore": 30, "nightly": 30}
    assert "adjuster" not in put_off(driver.wait(0.9), 30)
    assert put_off(driver.wait(0.1), 30)["adjuster"] == 30
    assert put_off(driver.wait(5), 40) == {"adjuster": 40, "rescore": 40, "nightly": 40}


def test_a_longer_wait_that_was_said_later_counts(driver: Driver) -> None:
    put_off(driver, 2)
    assert put_off(driver.wait(0.5), 20) == {"nightly": 21}


def test_when_it_is_over_it_begins_anew(driver: Driver) -> None:
    put_off(driver, 2)
    put_off(driver.wait(1), 2)
    assert put_off(driver.wait(10)) == {"nightly": 5}


def test_a_wait_that_is_over_by_now_puts_nobody_off(driver: Driver) -> None:
    assert put_off(driver, 5, age=6) == {}
    assert driver.state.backoff_widened_at == 0


def test_only_an_interactive_class_is_put_off_where_there_is_no_other() -> None:
    assert put_off(Driver(pool([limit()], workload("adjuster"))), 3) == {"adjuster": 3}
    assert put_off(Driver(msgspec.structs.replace(pool([limit()]), classes=()))) == {}


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 400), st.integers(0, 9000))))
def test_looser_classes_wait_at_least_as_long(steps: Any) -> None:
    driver, widened_at = Driver(pool([limit()], *ALL)), 0
    for after, seconds, age in steps:
        driver.wait(milliseconds=after)
        before, now = list(driver.state.backoff_until), driver.state.at
        put_off(driver, seconds, age / 1000)
        waits = driver.state.backoff_until
        assert waits == sorted(waits)
        assert all(new >= old for new, old in zip(waits, before, strict=True))
        in_backoff, then = (sum(until > now for until in some) for some in (waits, before))
        if in_backoff > then:
            assert in_backoff == then + 1
            assert not then or now - widened_at >= SECOND, "one tier a second"
            widened_at = now


def test_a_bound_caller_puts_off_no_stricter_tier(driver: Driver) -> None:
    for _ in range(4):
        assert put_off(driver.wait(2), 30, strictest=2).keys() == {"nightly"}
    for _ in range(4):
        assert put_off(driver.wait(2), 30, strictest=1).keys() == {"rescore", "nightly"}
    assert put_off(driver.wait(2), 30).keys() == {"adjuster", "rescore", "nightly"}
    assert put_off(driver.wait(2), 30, strictest=2).keys() == {"nightly"}, "prolonged for its own"
