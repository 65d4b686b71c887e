"""What a provider says: leaks are found, and our own calls never pass for one."""

from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from budget.rule.adopt import adopt
from budget.rule.observe import Correction, Reading, excuse, reconcile
from budget.rule.pool import PoolState
from budget.rule.strategies import splits
from budget.rule.terms import SECOND
from tests.rule.pools import Driver, limit, pool, workload
from tests.rule.provider_model import Tally

MINUTE, DAY = 60 * SECOND, 86_400 * SECOND
ALL = (workload("adjuster", share=0.5), workload("rescore"), workload("nightly"))


def told(driver: Driver, remaining: int, amount: int | None = None, **more: Any) -> Any:
    reading = Reading(
        more.pop("unit", "total_tokens"), remaining, amount, more.pop("period", MINUTE)
    )
    age = int(more.pop("age", 0) * SECOND)
    tolerance, strictest = more.pop("tolerance", 0.1), more.pop("strictest", None)
    return reconcile(driver.terms, driver.state, [reading], age, tolerance, strictest)


def available(driver: Driver) -> float:
    return driver.level.available(splits(driver.terms, driver.state)[0])


# leaks


def test_the_providers_limit_is_used_up_while_our_level_is_full() -> None:
    driver = Driver(pool([limit(600)], *ALL))
    name = "total_tokens/token_bucket"
    assert told(driver, 0) == [Correction(name, 600, 600, 600)]
    assert driver.level.meter.level == 0
    refused = driver.offer("nightly", 100)
    assert (refused.reason, refused.retry_after_ms) == ("pool_exhausted", 40_000)


def test_a_leak_is_found_once() -> None:
    driver = Driver(pool([limit(600)]))
    assert told(driver, 300)
    assert told(driver, 300) == []
    driver.wait(10)
    assert told(driver, 400) == []
    assert told(driver, 300)[0].unexplained == 100


def test_floors_shrink_as_after_debt() -> None:
    driver = Driver(pool([limit(600)], *ALL))
    told(driver, 150)
    assert driver.level.credits[0] == 300
    numbers = driver.offer("adjuster", 151).standings[0]
    assert (numbers.available, numbers.own_floor) == (150, 150)
    assert driver.offer("nightly", 1).reason == "floor_protected"
    assert driver.offer("adjuster", 150).admitted


@pytest.mark.parametrize(("missing", "found"), [(59, 0), (60, 0), (61, 1)])
def test_what_is_tolerated(missing: int, found: int) -> None:
    assert len(told(Driver(pool([limit(600)])), 600 - missing)) == found


def test_a_small_bucket_is_compared_by_what_is_missing_and_kept_to_what_is_left() -> None:
    driver = Driver(pool([limit(600, burst=25)]))
    driver.offer("nightly", 150)
    assert told(driver, 450) == []
    (found,) = told(driver, 250)
    assert (found.unexplained, found.clamped) == (200, 0)
    (found,) = told(driver.wait(15), 50)
    assert (found.unexplained, found.clamped) == (350, 100)
    assert driver.level.meter.level == 50


def test_a_window_is_clamped_too() -> None:
    driver = Driver(pool([limit(600, "sliding_window")], *ALL))
    driver.offer("adjuster", 100)
    (found,) = told(driver, 200)
    assert (found.unexplained, found.clamped) == (300, 300)
    assert driver.level.by_class == [100, 0, 0]
    assert driver.offer("adjuster", 200).admitted
    assert driver.wait(61).level.total == 0


def test_what_the_provider_may_not_have_given_back_is_no_leak() -> None:
    driver = Driver(pool([limit(600)]))
    call = driver.offer("nightly", 400)
    driver.settle("nightly", call, {"total_tokens": 10})
    assert told(driver, 200) == []
    assert driver.level.meter.level == 590
    (found,) = told(driver, 100)
    assert (found.unexplained, found.clamped) == (100, 100)


def test_what_was_used_beyond_the_estimate_is_no_leak() -> None:
    driver = Driver(pool([limit(600)]))
    call = driver.offer("nightly", 100)
    driver.settle("nightly", call, {"total_tokens": 500})
    assert told(driver, 100, tolerance=0) == []


def test_a_report_ages() -> None:
    driver = Driver(pool([limit(600)]))
    assert told(driver, 510, age=3, tolerance=0.1) == []
    assert told(driver, 0, age=5)[0].unexplained == 550
    assert told(Driver(pool([limit(600)])), 0, age=5.001) == []


def test_where_the_provider_allows_less_than_the_policy_nothing_is_a_leak() -> None:
    driver = Driver(pool([limit(600)]))
    (found,) = told(driver, 0, amount=300)
    assert (found.unexplained, found.clamped, found.leaked) == (300, 300, 0)
    assert told(Driver(pool([limit(600)])), 0, amount=598)[0].leaked


def test_where_the_provider_allows_more_only_what_is_missing_counts() -> None:
    driver = Driver(pool([limit(600)]))
    assert told(driver, 1140, amount=1200) == []
    (found,) = told(driver, 900, amount=1200)
    assert (found.unexplained, found.clamped, found.leaked) == (300, 0, 300)


def test_only_limits_of_that_unit_and_kind_of_period_are_compared() -> None:
    driver = Driver(
        pool([limit(10), limit(10, "gauge", unit="requests"), limit(9, unit="requests", per=86400)])
    )
    assert told(driver, 0, unit="requests") == []
    assert told(driver, 0, unit="output_tokens") == []
    (found,) = told(driver, 0, amount=9, unit="requests", period=DAY)
    assert found.limit == "requests/token_bucket"
    second = Driver(pool([limit(10, per=1)]))
    assert told(second, 550) == [], "a tenth of the minute's amount is tolerated"
    assert told(second, 0)[0].unexplained == 600


def test_a_days_calls_are_explained_all_day() -> None:
    driver = Driver(pool([limit(86_400, unit="requests", per=86_400)]))
    assert driver.offer("nightly", 20_000).admitted
    reading = {"amount": 86_400, "unit": "requests", "period": DAY}
    assert told(driver.wait(3600), 86_400 - 20_000 + 3600, **reading) == []
    assert told(driver, 50_000, **reading)[0].leaked == 20_000


def test_nothing_is_corrected_in_observe_mode_nor_just_after_it() -> None:
    driver = Driver(pool([limit(600)], mode="observe"))
    assert told(driver, 0) == []
    for _ in range(3):
        assert driver.offer("nightly", 300).admitted
    enforcing = msgspec.structs.replace(driver.terms, mode="enforce", version=2)
    driver.state = adopt(driver.terms, driver.state, enforcing, driver.state.at)
    driver.terms = enforcing
    assert told(driver, 0) == []


def test_a_state_of_an_earlier_program_explains_everything_for_a_while() -> None:
    driver = Driver(pool([limit(600)]))
    document = msgspec.to_builtins(driver.state)
    del document["explained"], document["backoff_widened_at"]
    driver.state = msgspec.convert(document, PoolState)
    assert told(driver.wait(60), 0) == []
    assert told(driver.wait(240), 0)


# callers that are bound to classes


def test_a_bound_caller_brings_the_level_down_to_what_its_class_must_leave_alone() -> None:
    driver = Driver(pool([limit(600)], *ALL))
    (found,) = told(driver, 0, strictest=2)
    assert (found.unexplained, found.clamped, found.leaked) == (300, 300, 300)
    assert told(driver, 0, strictest=2) == [], "the floor of the stricter class stays"
    assert driver.offer("adjuster", 300).admitted
    driver = Driver(pool([limit(600)], *ALL))
    (found,) = told(driver, 400, strictest=2)
    assert (found.clamped, available(driver)) == (200, 400), "what is left there"


def test_what_is_missing_beyond_it_is_for_others_to_tell() -> None:
    driver = Driver(pool([limit(600)], *ALL))
    told(driver, 0, strictest=2)
    (found,) = told(driver, 0)
    assert (found.unexplained, found.clamped, found.leaked) == (300, 300, 300)


def test_the_strictest_class_itself_is_believed_whole() -> None:
    driver = Driver(pool([limit(600)], *ALL))
    assert told(driver, 0, strictest=0)[0].clamped == 600


def test_what_is_excused_is_no_leak_of_a_bound_callers_either() -> None:
    driver = Driver(pool([limit(600)], *ALL))
    used_alone(driver, 200)
    (found,) = told(driver, 0, strictest=2)
    assert (found.unexplained, found.leaked) == (300, 100)


# what callers used while the service was away


def used_alone(driver: Driver, tokens: int, ago: float = 0, over: float = 0) -> None:
    used = {"total_tokens": tokens, "requests": 1}
    last_at = driver.state.at - int(ago * SECOND)
    excuse(driver.terms, driver.state, used, last_at - int(over * SECOND), last_at)


def test_what_callers_used_by_themselves_is_clamped_and_no_leak() -> None:
    driver = Driver(pool([limit(600)], *ALL))
    used_alone(driver, 400)
    assert available(driver) == 600, "what may have come back long ago is not charged"
    (found,) = told(driver, 200)
    assert (found.unexplained, found.clamped, found.leaked) == (400, 400, 0)
    assert available(driver) == 200
    assert driver.level.credits[0] == 300, "at nobody's expense"
    assert told(driver, 200) == []
    (found,) = told(driver, 100)
    assert (found.unexplained, found.leaked) == (100, 100), "it excuses once"


def test_only_what_is_missing_beyond_it_is_a_leak() -> None:
    driver = Driver(pool([limit(600)]))
    used_alone(driver, 200)
    (found,) = told(driver, 100)
    assert (found.unexplained, found.clamped, found.leaked) == (500, 500, 300)


def test_what_is_missing_beyond_it_by_less_than_is_tolerated_is_none() -> None:
    driver = Driver(pool([limit(600)]))
    used_alone(driver, 200)
    assert told(driver, 340)[0].leaked == 0


def test_it_comes_back_at_the_provider_after_what_is_explained() -> None:
    driver = Driver(pool([limit(600)]))
    used_alone(driver, 300)
    driver.offer("nightly", 100)
    assert told(driver.wait(30), 200)[0].leaked == 300
    driver = Driver(pool([limit(600)]))
    used_alone(driver, 300)
    assert told(driver.wait(30), 300)[0].leaked == 300
    driver = Driver(pool([limit(600)]))
    driver.offer("nightly", 300)
    used_alone(driver, 300)
    assert told(driver.wait(30), 300)[0].leaked == 0


def test_what_was_used_a_period_ago_excuses_nothing() -> None:
    driver = Driver(pool([limit(600), limit(9, unit="requests", per=86_400)]))
    used_alone(driver, 300, ago=60)
    assert driver.state.excused == [0, 1]
    used_alone(driver, 300, ago=59)
    assert driver.state.excused == [300, 2]


def test_no_more_is_excused_than_the_limit_could_have_given() -> None:
    driver = Driver(pool([limit(600), limit(600, burst=200, algorithm="token_bucket")]))
    used_alone(driver, 10**9)
    assert driver.state.excused == [600, 1200]
    driver = Driver(pool([limit(600)]))
    used_alone(driver, 10**9, over=120)
    assert driver.state.excused == [600 + 2 * 600]
    used_alone(driver, 100)
    assert driver.state.excused == [1900]


def test_a_limit_of_a_second_is_one_of_the_providers_minute() -> None:
    driver = Driver(pool([limit(10, per=1)]))
    used_alone(driver, 300, ago=20)
    assert told(driver, 300)[0].leaked == 0


def test_a_report_that_comes_after_the_observation_changes_no_level() -> None:
    driver = Driver(pool([limit(600)]))
    assert told(driver, 200)[0].leaked == 400
    used_alone(driver, 400)
    assert available(driver) == 200
    assert told(driver, 200) == []


def test_it_outlasts_an_edit() -> None:
    driver = Driver(pool([limit(600)]))
    used_alone(driver, 400)
    edited = msgspec.structs.replace(driver.terms, limits=(limit(500),), version=2)
    driver.state = adopt(driver.terms, driver.state, edited, driver.state.at)
    driver.terms = edited
    assert told(driver, 100)[0].leaked == 0


# against the definition

STEPS = st.lists(
    st.tuples(
        st.integers(0, 40_000),
        st.sampled_from(["call", "call", "leak", "settle", "report", "report", "away", "tell"]),
        st.integers(1, 400),
    ),
    min_size=1,
    max_size=25,
)
LIMITS = st.builds(
    limit,
    st.just(600),
    st.sampled_from(["token_bucket", "sliding_window"]),
    burst=st.sampled_from([10, 25, 100, 300]),
    per=st.just(60),
)


@given(LIMITS, STEPS, st.booleans(), st.integers(0, 5), st.sampled_from([0.0, 0.1, 0.5]))
def test_leaks_are_told_from_calls_of_ours(
    terms: Any, steps: Any, gives_back: bool, age: int, tolerance: float
) -> None:
    """Also at a provider that gives back what calls didn't use, and at one that doesn't.

    And from calls made while the service was away, if they are told of within the period.
    """
    driver = Driver(pool([terms], *ALL))
    provider = Tally(Fraction(terms.amount, terms.period))
    explained, known = Tally(provider.rate), Tally(provider.rate)
    leaking, calls, alone = False, [], []
    for after, kind, size in steps:
        driver.wait(milliseconds=after)
        now = driver.state.at
        if kind == "call":
            decision = driver.offer("nightly", size)
            if decision.admitted:
                explained.count(now, size)
                known.count(now, size)
                calls.append((decision, size, provider.count(now, size)))
        elif kind == "settle" and calls:
            decision, estimate, entry = calls.pop()
            driver.settle("nightly", decision, {"total_tokens": size})
            explained.count(now, max(0, size - estimate))
            known.count(now, max(0, size - estimate))
            entry[1] = max(entry[1], size)
            if gives_back:
                entry[1] = size
        elif kind == "leak":
            provider.count(now, size)
            leaking = True
        elif kind == "away":
            alone.append(provider.count(now, size))
        elif alone:
            leaking |= not told_in_time(driver, alone, known)
            alone.clear()
        if kind == "report" and provider.missing(now) <= terms.amount:
            report(driver, provider, explained, known, leaking, age, tolerance)


def told_in_time(driver: Driver, alone: list[list[int]], known: Tally) -> bool:
    last_at, used = alone[-1][0], sum(size for _, size in alone)
    used_alone(driver, used, (driver.state.at - last_at) / SECOND)
    if driver.state.at - last_at >= MINUTE:
        return False
    known.count(driver.state.at, used)
    return True


def report(
    driver: Driver,
    provider: Tally,
    explained: Tally,
    known: Tally,
    leaking: bool,
    age: int,
    tolerance: float,
) -> None:
    now, amount = driver.state.at, driver.terms.limits[0].amount
    said = int(amount - provider.missing(now - age * SECOND))
    missing = max(Fraction(0), amount - said - provider.rate * age * SECOND)
    unexplained = missing - explained.missing(now)
    unknown = missing - known.missing(now)
    before = available(driver)
    assume(known.missing(now) < 4 * amount)
    found = told(driver, said, age=age, tolerance=tolerance)
    left = min(Fraction(amount), said + provider.rate * age * SECOND)
    assert available(driver) <= before, "a clamp never raises a level"
    assert available(driver) >= min(before, left) - 1e-6, "nor takes it below what is left"
    if not leaking:
        assert not any(one.leaked for one in found), "our own calls never pass for a leak"
    for bound in (unexplained, unknown):
        assume(abs(bound - max(1, tolerance * amount)) > 1.01)
    assert bool(found) == (unexplained > max(1, tolerance * amount))
    for correction in found:
        assert abs(correction.unexplained - unexplained) <= 1
        assert correction.clamped <= correction.unexplained
        assert before - available(driver) == pytest.approx(correction.clamped)
        assert bool(correction.leaked) == (unknown > max(1, tolerance * amount))
        assert not correction.leaked or abs(correction.leaked - unknown) <= 1
        explained.count(now, correction.unexplained)
        known.count(now, max(0, explained.missing(now) - known.missing(now)))
