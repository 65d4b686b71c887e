"""How often something happens, as of late."""

import pytest

from budget.rule.rate import SPAN, Rate
from budget.rule.terms import SECOND


@pytest.mark.parametrize("seconds", [1, 5, 30, 300])
def test_a_rate_is_right_from_the_start_of_its_clock(seconds: int) -> None:
    rate = Rate()
    for n in range(seconds * 10):
        rate.count(n * SECOND // 10)
    assert rate.now(seconds * SECOND) == pytest.approx(10, rel=0.1)


def test_a_rate_fades_while_its_clock_runs() -> None:
    rate = Rate()
    rate.count(3600 * SECOND)
    fresh = rate.now(3600 * SECOND)
    assert fresh == pytest.approx(SECOND / SPAN)
    assert rate.now(3600 * SECOND + SPAN) == pytest.approx(fresh / 2.71828, rel=1e-3)


@pytest.mark.parametrize("later", [0, 1, 60, 6000])
def test_what_is_taken_back_was_never_counted(later: int) -> None:
    counted, other = Rate(), Rate()
    for rate in (counted, other):
        rate.count(SECOND)
    counted.count(2 * SECOND)
    now = (2 + later) * SECOND
    counted.take_back(now, 2 * SECOND)
    assert counted.now(now) == pytest.approx(other.now(now), abs=1e-12)


def test_a_rate_is_never_below_nothing() -> None:
    rate = Rate()
    rate.take_back(SECOND, SECOND)
    assert rate.now(SECOND) == 0
