"""Percentages as pages write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.pages.percents import exact_percent, percent


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (41.2, "41 %"),
        (4.25, "4.2 %"),
        (5, "5 %"),
        (9.97, "10 %"),
        (0.02, "under 0.1 %"),
        (0, "0 %"),
        (99.6, "99.6 %"),
        (99.97, "over 99.9 %"),
        (100, "100 %"),
        (100.04, "over 100 %"),
        (100.4, "100.4 %"),
        (130.4, "130 %"),
    ],
)
def test_a_share_is_told_as_people_say_it(share: float, words: str) -> None:
    assert percent(share) == words


@given(st.floats(0, 1000))
def test_only_nothing_is_0_and_only_all_is_100(share: float) -> None:
    assert (percent(share) == "0 %") == (share == 0)
    assert (percent(share) == "100 %") == (share == 100)


@pytest.mark.parametrize(
    ("fraction", "words"), [(0.0005, "0.05 %"), (0.1225, "12.25 %"), (0.3, "30 %"), (1, "100 %")]
)
def test_a_policys_share_is_told_exactly(fraction: float, words: str) -> None:
    assert exact_percent(fraction) == words
