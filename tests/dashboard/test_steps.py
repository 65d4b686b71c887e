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


def test_a_long_step_has_as_many_minutes_as_were_recorded() -> None:
    assert Steps(history("110", step=10 * MINUTE, minutes=[10, 4, None])).minutes == [10, 4, 1]


def test_of_the_minute_that_goes_on_what_is_past_counts() -> None:
    long = history("11", step=10 * MINUTE, minutes=[10, 4], at=START + 13.25 * MINUTE)
    assert Steps(long).minutes == [10, 3.25]


def test_a_step_that_just_began_is_a_minute_at_least() -> None:
    begun = history("1", step=10 * MINUTE, minutes=[1], at=START + 0.1 * MINUTE)
    assert Steps(begun).minutes == [1]
    assert Steps(history("11", at=START + 1.5 * MINUTE)).minutes == [1, 1]


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
