"""Refunds give back what the bucket could have kept, and nothing it could not."""

import pytest

from budget.rule.meter import MOST_ROOMS, Meter
from budget.rule.terms import SECOND

CAPACITY = 100.0


def at(second):
    return int(second * SECOND)


def test_a_refund_of_a_bucket_that_was_not_full_is_whole():
    meter = Meter(60)
    meter.take(60, CAPACITY, at(0))
    assert meter.give_back(40, CAPACITY, at(0), at(1)) == 40
    assert meter.level == 40


def test_a_refund_of_a_charge_on_a_full_bucket_is_whole_until_it_overflows():
    meter = Meter(CAPACITY)
    meter.take(60, CAPACITY, at(0))
    assert meter.give_back(20, CAPACITY, at(0), at(1)) == 20


def test_a_refund_does_not_lift_what_was_full_anyway():
    meter = Meter(CAPACITY)
    meter.take(50, CAPACITY, at(0))
    meter.refill(50, CAPACITY)
    assert meter.give_back(30, CAPACITY, at(0), at(9)) == 0
    assert meter.level == CAPACITY


def test_a_refund_passes_the_smallest_room_since_its_charge():
    meter = Meter(60)
    meter.take(50, CAPACITY, at(0))
    meter.refill(85, CAPACITY)
    meter.take(40, CAPACITY, at(5))
    assert meter.give_back(30, CAPACITY, at(0), at(9)) == 5


def test_two_refunds_do_not_use_the_same_room_twice():
    meter = Meter(60)
    meter.take(20, CAPACITY, at(0))
    meter.take(20, CAPACITY, at(1))
    meter.refill(70, CAPACITY)
    meter.take(30, CAPACITY, at(5))
    first = meter.give_back(8, CAPACITY, at(0), at(9))
    second = meter.give_back(8, CAPACITY, at(1), at(9))
    assert (first, second) == (8, 2)


def test_merged_rooms_only_make_refunds_smaller():
    meter = Meter(CAPACITY)
    for second in range(3 * MOST_ROOMS):
        meter.take(0.1, CAPACITY, at(second))
    assert len(meter.rooms) <= MOST_ROOMS
    assert meter.rooms == sorted(meter.rooms)
    assert meter.give_back(0.05, CAPACITY, at(300), at(400)) == pytest.approx(0.05)
