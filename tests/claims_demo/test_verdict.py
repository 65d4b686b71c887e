"""How the demo judges a storm."""

import msgspec
import pytest

from claims_demo.storm.tally import Tally
from claims_demo.verdict import verdict
from tests.claims_demo.reports import report

UNSCATHED = {
    "rescore": Tally(asked=9, enqueued=9, offered=9, admitted=9),
    "nightly": Tally(asked=9, enqueued=9, offered=9, admitted=9),
}


def test_it_is_good_when_the_adjusters_were_served_and_others_went_short() -> None:
    told, broken = verdict(report())
    assert broken == []
    assert told == [
        "adjuster assistant: 18 of 18 questions were answered within 2 s, 95 % waited at most "
        "0.9 s. The budget admitted 20 and shed 0.",
        "re-score: 21 of 30 jobs were let into the queue, 12 were begun, 0 expired, 9 wait. "
        "The budget shed 9 (9 queue_full).",
        "nightly classification: 80 of 80 jobs were let into the queue, 0 were begun and 12 sent "
        "in batches, 7 expired, 61 wait. The budget shed 0 and held the queue back for 6 s "
        "(headroom).",
        "The pool: of what nobody is promised 7 % was left at the worst.",
    ]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"adjuster": Tally()}, "No question to the adjuster assistant came to an end"),
        ({"adjuster": Tally(in_time=8, late=2)}, "Only 8 of 10 questions were answered in time"),
        ({"adjuster": Tally(failed=1, faults={"ReadError": 1})}, "1 × ReadError"),
        (
            UNSCATHED | {"rescore": Tally(shed={"queue_full": 99}, expired=9)},
            "go short of the pool",
        ),
        (UNSCATHED, "had to go short of the pool"),
        (UNSCATHED | {"nightly": Tally(shed={"paused": 9})}, "had to go short of the pool"),
        (
            UNSCATHED | {"nightly": Tally(held={"attempts were sent away": 9})},
            "had to go short of the pool",
        ),
    ],
)
def test_it_names_what_was_not_kept(changes: dict[str, Tally], complaint: str) -> None:
    assert any(complaint in line for line in verdict(report(**changes)).broken)


@pytest.mark.parametrize(
    "enough", [Tally(shed={"headroom": 1}), Tally(held={"floor_protected": 1})]
)
def test_going_short_is_being_refused_or_kept_waiting_for_capacity(enough: Tally) -> None:
    assert verdict(report(**UNSCATHED | {"rescore": enough})).broken == []


@pytest.mark.parametrize("free", [None, 40.0])
def test_a_pool_of_which_enough_was_left_shows_nothing(free: float | None) -> None:
    plenty = msgspec.structs.replace(report(), least_free_percent=free)
    assert any("did not exhaust the pool" in line for line in verdict(plenty).broken)


def test_a_storm_that_never_broke_shows_nothing() -> None:
    calm = msgspec.structs.replace(report(), strongest=1)
    assert verdict(calm).broken == ["The storm had not begun."]
