"""Call ids."""

import time

import pytest

from budget.ledger.ids import new_id, pool_of


def test_is_a_version_7_uuid_that_carries_its_pool() -> None:
    call_id = new_id(4711)
    assert (call_id.version, pool_of(call_id)) == (7, 4711)


def test_later_ids_sort_after_earlier_ones() -> None:
    earlier = new_id(2)
    time.sleep(0.002)
    assert new_id(1) > earlier


def test_ids_of_one_moment_differ() -> None:
    assert len({new_id(1) for _ in range(10_000)}) == 10_000


def test_refuses_a_pool_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        new_id(1 << 24)


def test_an_id_can_be_given_the_place_of_an_earlier_moment():
    assert new_id(1, at=1_780_000_000_000_000) < new_id(1, at=1_780_000_000_001_000) < new_id(1)
