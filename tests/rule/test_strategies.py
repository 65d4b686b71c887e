"""A strategy changes which shares are in force, and nothing else."""

import pytest

from budget.rule import strategies
from budget.rule.idle import reach
from tests.rule.pools import START, Driver, limit, pool, workload


class OnlyWhoCalled:
    """Gives a tier's shares to those of its classes that were ever offered a call."""

    def shares(self, terms, members, demand):
        return [terms.classes[c].share if demand.last_offered[c] else 0.0 for c in members]


@pytest.fixture
def driver(monkeypatch):
    monkeypatch.setitem(strategies.STRATEGIES, "only_who_called", OnlyWhoCalled())
    terms = pool(
        [limit(600, "sliding_window")],
        workload("adjuster", share=0.5),
        workload("nightly"),
        strategies={"interactive": "only_who_called"},
    )
    return Driver(terms)


def test_static_shares_are_the_reserved_ones():
    terms = pool([limit()], workload("adjuster", share=0.5), workload("nightly"))
    assert [split.shares for split in strategies.splits(terms, Driver(terms).state)] == [(0.5, 0.0)]


def test_a_strategy_sees_who_called_and_its_shares_are_the_floors(driver):
    assert driver.offer("nightly", 300).admitted
    assert driver.offer("nightly", 300).admitted
    driver.wait(61).offer("adjuster", 0)
    assert driver.offer("nightly", 300).admitted
    assert driver.offer("nightly", 1).reason == "floor_protected"
    assert driver.state.last_offered[0] == START + 61_000_000


def test_what_an_idle_pool_offers_is_told_by_the_reservations(driver):
    assert reach(driver.terms, 1, 0) == pytest.approx(0.5 * 60 / 61)
