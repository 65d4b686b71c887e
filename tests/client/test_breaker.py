"""Whoever finds the service away tells all others."""

from budget.client.breaker import LONGEST_PAUSE, SHORTEST_PAUSE, Breaker

SPREAD = 1.25


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_opens_at_the_first_news_and_looks_soon() -> None:
    breaker = Breaker(Clock())
    assert not breaker.is_open
    assert breaker.seconds_until_look is None
    assert breaker.trip()
    assert not breaker.trip()
    assert breaker.is_open
    assert 0 < (breaker.seconds_until_look or 0) <= SHORTEST_PAUSE * SPREAD


def test_it_looks_less_and_less_often_but_never_gives_up() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    breaker.trip()
    pauses = []
    for _ in range(10):
        pauses.append(breaker.seconds_until_look or 0)
        clock.now += pauses[-1]
        assert breaker.seconds_until_look == 0
        breaker.still_away()
    assert pauses[3] > pauses[0]
    assert max(pauses) <= LONGEST_PAUSE * SPREAD
    assert pauses[-1] >= LONGEST_PAUSE * 0.75


def test_it_closes_once_somebody_answers() -> None:
    breaker = Breaker(Clock())
    breaker.trip()
    assert breaker.close()
    assert not breaker.close()
    assert not breaker.is_open


def test_a_service_that_is_up_but_decides_nothing_is_tried_less_and_less_often() -> None:
    breaker = Breaker(Clock())
    for _ in range(8):
        breaker.trip()
        last = breaker.seconds_until_look or 0
        breaker.close()
    assert last > 2
    breaker.works()
    breaker.trip()
    assert (breaker.seconds_until_look or 0) <= SHORTEST_PAUSE * SPREAD
