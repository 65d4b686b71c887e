"""Steps of a chart: what goes on, what is missing, how much of each is known."""

from budget.dashboard.steps import Gap, Steps
from budget.services import FloorsSince
from tests.dashboard.histories import ALLOWANCE, EARLY, MINUTE, START, history


def test_the_step_that_goes_on_is_open() -> None:
    assert Steps(history("111", at=START + 2.5 * MINUTE)).open == 2


def test_a_time_that_is_over_has_no_open_step() -> None:
    assert Steps(history("111")).open is None


def test_a_time_to_come_has_no_open_step() -> None:
    assert Steps(history("000", at=START - MINUTE)).open is None


def test_gaps_lie_between_what_is_known() -> None:
    steps = Steps(history("0110010"))
    assert steps.first == 1
    assert steps.gaps == [Gap(START + 3 * MINUTE, START + 5 * MINUTE)]


def test_nothing_known_is_no_gap() -> None:
    steps = Steps(history("000"))
    assert (steps.first, steps.gaps) == (None, [])


def test_a_long_step_knows_as_many_minutes_as_were_recorded() -> None:
    steps = Steps(history("11", step=10 * MINUTE, allowance=[10 * ALLOWANCE, 4 * ALLOWANCE]))
    assert steps.minutes == [10, 4]


def test_a_limit_that_rose_meanwhile_makes_no_minute_longer() -> None:
    floors = [
        FloorsSince(EARLY, 1, {}, ALLOWANCE),
        FloorsSince(START + 5 * MINUTE, 2, {}, 3 * ALLOWANCE),
    ]
    recorded = 5 * ALLOWANCE + 5 * 3 * ALLOWANCE
    steps = Steps(history("1", step=10 * MINUTE, floors=floors, allowance=[recorded]))
    assert steps.minutes == [10]


def test_without_an_allowance_the_minutes_that_passed_count() -> None:
    floors = [FloorsSince(EARLY, 1, {}, 0)]
    gauge = history("11", step=10 * MINUTE, floors=floors, allowance=[0, 0], at=START + 13 * MINUTE)
    assert Steps(gauge).minutes == [10, 3]


def test_a_step_that_just_began_is_a_minute_at_least() -> None:
    floors = [FloorsSince(EARLY, 1, {}, 0)]
    begun = history("1", step=10 * MINUTE, floors=floors, allowance=[0], at=START + 0.1 * MINUTE)
    assert Steps(begun).minutes == [1]


def test_the_policy_of_a_step_is_the_one_it_ended_under() -> None:
    floors = [
        FloorsSince(EARLY, 1, {}, ALLOWANCE),
        FloorsSince(START + 1.5 * MINUTE, 2, {}, ALLOWANCE),
    ]
    steps = Steps(history("111", floors=floors))
    assert [policy.version for policy in steps.policies] == [1, 2, 2]


def test_a_change_at_the_very_end_counts_from_the_next_step_on() -> None:
    floors = [
        FloorsSince(EARLY, 1, {}, ALLOWANCE),
        FloorsSince(START + MINUTE, 2, {}, ALLOWANCE),
    ]
    assert [p.version for p in Steps(history("11", floors=floors)).policies] == [1, 2]
