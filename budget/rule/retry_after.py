"""When a refused call would fit if nothing else arrived."""

from collections.abc import Callable
from typing import NamedTuple
from zlib import crc32

from budget.rule.decide import standing, stricter_at_work
from budget.rule.decision import TOLERANCE, Standing
from budget.rule.gauge import Gauge
from budget.rule.pool import ACTIVITY, Offer, PoolState, Promise
from budget.rule.strategies import splits
from budget.rule.terms import SECOND, PoolTerms

MILLISECOND = 1_000

UNLEARNED_CALL_TIME = 2.0
"""Seconds a call is taken to last before any of its class was settled."""

MOST_PROMISES = 100
"""Promises kept per pool. Callers beyond it are spread out, but not waited for."""


class Ahead(NamedTuple):
    """What callers with a promise will take of one limit first, in the limit's unit."""

    all: int
    """The same and stricter classes together."""
    own: int
    """The caller's class alone."""


Gap = Callable[[Standing, Ahead], float]
"""By how much one limit misses what is asked, in the limit's unit; 0 or less: not at all."""


def retry_moment(terms: PoolTerms, state: PoolState, call: Offer) -> int:
    """The earliest moment at which all limits would admit the call at once.

    In microseconds since the epoch, a whole number of milliseconds after the state's
    moment. Calls already promised a moment to the same or stricter classes are counted
    as if they came first. Every test of the rule, once it holds, keeps holding while
    nothing else arrives, so the moments of single tests combine by maximum, and the way
    through the own floor and the way past it by minimum.

    Exact for buckets and windows without promises; an estimate on gauges, which are
    freed by calls that end and not by time.
    """
    c = call.workload_class
    assert c is not None, "an untagged call is not retryable"
    search = _Search(terms, state, call, c)
    moment = max(search.latest(_short_of_ceiling), search.latest(_short_of_capacity))
    yields_above = terms.classes[c].yields_above
    if yields_above is not None:
        yielded = search.latest(lambda numbers, _: _above(numbers, yields_above))
        within_floor = max(search.latest(_short_of_floor), search.latest(_short_of_ceiling))
        moment = min(within_floor, max(moment, yielded))
    moment = max(moment, state.backoff_until[c], state.at + MILLISECOND)
    return state.at - (state.at - moment) // MILLISECOND * MILLISECOND


def promise(state: PoolState, call: Offer, moment: int) -> int:
    """Keep a moment for a refused caller; return the moment to tell it."""
    assert call.workload_class is not None, "an untagged call is not retryable"
    if len(state.promises) >= MOST_PROMISES:
        spread = (moment - state.at) * (crc32(call.key.encode()) % 1000) // 1000
        return min(moment + spread // MILLISECOND * MILLISECOND, max(moment, call.deadline))
    state.promises.append(Promise(call.key, call.workload_class, moment, call.deadline, call.costs))
    return moment


class _Search:
    """Looks ahead on each limit that one refused call touches."""

    def __init__(self, terms: PoolTerms, state: PoolState, call: Offer, c: int) -> None:
        self.terms, self.state, self.call, self.c = terms, state, call, c
        self.promised = [self._promised(d) for d in range(len(call.costs))]
        self.quiet_at = max(
            [state.at, *[last + ACTIVITY for last in state.last_offered[:c] if last]]
        )

    def _promised(self, d: int) -> Ahead:
        earlier = [p for p in self.state.promises if p.workload_class <= self.c]
        return Ahead(
            all=sum([p.costs[d] for p in earlier]),
            own=sum([p.costs[d] for p in earlier if p.workload_class == self.c]),
        )

    def latest(self, gap: Gap) -> int:
        """When the gap is closed on every touched limit."""
        touched = [d for d, cost in enumerate(self.call.costs) if cost]
        return max([self._closed_at(d, gap) for d in touched], default=self.state.at)

    def _closed_at(self, d: int, gap: Gap) -> int:
        at, split, level = self.state.at, splits(self.terms)[d], self.state.levels[d]
        if self._gap_at(d, gap, at) <= TOLERANCE:
            return at
        idle_at = max(level.idle_at(split, at), self.quiet_at)
        idle_at = at + -(-(idle_at - at) // MILLISECOND) * MILLISECOND
        missing = self._gap_at(d, gap, idle_at)
        if missing <= TOLERANCE:
            return self._first(d, gap, at, idle_at)
        if isinstance(level, Gauge):
            return at + int(missing / self._released_per_second(level) * SECOND)
        return idle_at + int(missing / split.rate)

    def _first(self, d: int, gap: Gap, low: int, high: int) -> int:
        """The first whole millisecond after `low` at which the gap is closed, as it is at `high`.

        Gaps are nearly linear in time, so interpolating finds it in a few looks; every
        other look halves the span, which bounds their number.
        """
        gap_low, gap_high = self._gap_at(d, gap, low), self._gap_at(d, gap, high)
        halve = False
        while high - low > MILLISECOND:
            steps = (high - low) // MILLISECOND
            part = 0.5 if halve else gap_low / (gap_low - gap_high)
            step = min(max(1, -int(-steps * part // 1)), steps - 1)
            middle = low + step * MILLISECOND
            gap_middle = self._gap_at(d, gap, middle)
            if gap_middle <= TOLERANCE:
                high, gap_high = middle, gap_middle
            else:
                low, gap_low = middle, gap_middle
            halve = not halve
        return high

    def _gap_at(self, d: int, gap: Gap, to: int) -> float:
        split, level = splits(self.terms)[d], self.state.levels[d]
        ahead = level.ahead(split, self.state.at, to)
        at_work = stricter_at_work(self.state, self.c, to)
        numbers = standing(self.terms, self.c, split, ahead, self.call.costs[d], at_work)
        return gap(numbers, self.promised[d])

    def _released_per_second(self, level: Gauge) -> float:
        """How many units the leases under way give back per second, by learned call times."""
        medians = [learned.value or UNLEARNED_CALL_TIME for learned in self.state.call_times]
        removed = level.total - sum(level.by_class)
        rate = removed / UNLEARNED_CALL_TIME
        rate += sum([held / median for held, median in zip(level.by_class, medians, strict=True)])
        return rate or 1 / UNLEARNED_CALL_TIME


def _short_of_capacity(numbers: Standing, ahead: Ahead) -> float:
    own_floor = numbers.own_floor - ahead.own
    return numbers.cost - max(own_floor, numbers.free - numbers.headroom - ahead.all)


def _short_of_floor(numbers: Standing, ahead: Ahead) -> float:
    return numbers.cost - (numbers.own_floor - ahead.own)


def _short_of_ceiling(numbers: Standing, ahead: Ahead) -> float:
    if numbers.ceiling_left is None:
        return 0.0
    return numbers.cost - (numbers.ceiling_left - ahead.own)


def _above(numbers: Standing, yields_above: float) -> float:
    return numbers.interactive_floors_spent - yields_above + 2 * TOLERANCE
