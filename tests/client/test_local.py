"""A process's part of a floor: as much as is its own, and no more, in any stretch of time."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.client.local import LocalFloor
from budget.client.terms import terms_of
from tests.client.terms import BODY, terms
from tests.client.test_breaker import Clock

# Of 10,000 tokens' floor and half of 60,000 a minute, half is this process's.
FULL = 5_000
RATE = 250
"""Tokens a second."""
CALL = {"total_tokens": 1_000, "requests": 1}


def share(clock: Clock) -> LocalFloor:
    return LocalFloor(terms(), "adjuster", clock)


def test_it_admits_its_part_at_once_and_then_at_its_rate() -> None:
    clock = Clock()
    own = share(clock)
    admitted = 0
    while own.wait_for(CALL) is None:
        own.release({"requests": 1})
        admitted += 1
    assert admitted == 5
    assert own.wait_for(CALL) == pytest.approx(1_000 / RATE)
    clock.now += 3.9
    assert own.wait_for(CALL) is not None
    clock.now += 0.11
    assert own.wait_for(CALL) is None


def test_a_gauge_counts_what_is_under_way() -> None:
    own = share(Clock())
    small = {"total_tokens": 1, "requests": 1}
    assert own.wait_for(small) is None
    assert own.wait_for(small) is None
    assert own.wait_for(small) == float("inf")
    own.release(small)
    assert own.wait_for(small) is None


def test_a_call_larger_than_the_part_goes_when_all_is_there_and_is_owed() -> None:
    clock = Clock()
    own = share(clock)
    large = {"total_tokens": 8_000, "requests": 1}
    assert own.wait_for(large) is None
    own.release({"requests": 1})
    assert own.wait_for(CALL) == pytest.approx((3_000 + 1_000) / RATE)


def test_without_a_floor_nothing_is_admitted() -> None:
    own = LocalFloor(terms(), "nightly", Clock())
    assert own.wait_for(CALL) == float("inf")


def test_a_limit_on_which_only_this_floor_is_switched_off_isnt_looked_at() -> None:
    body = deepcopy(BODY)
    body["classes"]["adjuster"]["floors"]["requests/gauge"] = 0
    own = LocalFloor(terms_of(body), "adjuster", Clock())
    admitted = 0
    while own.wait_for(CALL) is None:
        admitted += 1
    assert admitted == 5


def test_another_process_makes_the_part_smaller_and_spent_stays_spent() -> None:
    clock = Clock()
    own = share(clock)
    assert own.wait_for({"total_tokens": 2_000}) is None
    own.resize(terms(processes=4), "adjuster")
    assert own.wait_for({"total_tokens": 501}) is not None
    assert own.wait_for({"total_tokens": 500}) is None


@given(
    st.lists(
        st.tuples(st.floats(0, 30), st.integers(1, 5_000)),
        max_size=60,
    )
)
def test_never_more_than_its_stock_and_its_flow(calls: list[tuple[float, int]]) -> None:
    clock = Clock()
    own = share(clock)
    drawn: list[tuple[float, int]] = []
    for pause, tokens in calls:
        clock.now += pause
        if own.wait_for({"total_tokens": tokens}) is None:
            drawn.append((clock.now, tokens))
    for first, (began, _) in enumerate(drawn):
        total = 0
        for at, tokens in drawn[first:]:
            total += tokens
            assert total <= FULL + RATE * (at - began) + 1e-6
