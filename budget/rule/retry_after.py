"""When a refused call would fit if nothing else arrived."""

from collections.abc import Callable, Sequence
from itertools import takewhile
from math import ceil
from typing import NamedTuple
from zlib import crc32

from budget.rule.decide import standing
from budget.rule.decision import TOLERANCE, Standing
from budget.rule.gauge import Gauge
from budget.rule.pool import ACTIVITY, Offer, PoolState, Promise
from budget.rule.split import Split
from budget.rule.strategies import splits
from budget.rule.terms import SECOND, PoolTerms
from budget.rule.window import SLOTS, Window

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


Gap = Callable[[Standing, Ahead, Split], float]
"""By how much one limit misses what is asked, in the limit's unit; 0 or less: not at all."""

Look = tuple[int, float]
"""A moment and the gap there is at it."""


def retry_moment(
    terms: PoolTerms, state: PoolState, call: Offer, touched: Sequence[Standing]
) -> int:
    """The earliest moment at which all limits would admit the call at once.

    In microseconds since the epoch, a whole number of milliseconds after the state's
    moment; some moment past the call's deadline if it does not fit by then. `touched`
    holds the numbers it was refused by. Calls already promised a moment to the same or
    stricter classes are counted as if they came first; a caller that holds a promise
    itself, and came back early, keeps its place among them. Every test of the rule, once it
    holds, keeps holding while nothing else arrives, so the moments of single limits
    combine by maximum, and the ways within the own floor and beyond it by minimum.

    Exact for buckets and windows without promises; an estimate on gauges, which are
    freed by calls that end and not by time.
    """
    c = call.workload_class
    assert c is not None, "an untagged call is not retryable"
    search = _Search(terms, state, call, c, touched)
    yields_above = terms.classes[c].yields_above
    if yields_above is None:
        moment = search.latest(_short)
    else:

        def _short_or_yielding(numbers: Standing, ahead: Ahead, split: Split) -> float:
            return max(_short(numbers, ahead, split), _above(numbers, split, yields_above))

        moment = search.latest(_short_or_yielding)
        if search.own_floor_can_hold():
            moment = min(moment, search.latest(_short_of_floor))
    moment = max(moment, state.backoff_until[c], state.at + MILLISECOND)
    return state.at + _whole_milliseconds(moment - state.at)


def promise(state: PoolState, call: Offer, moment: int) -> int:
    """Keep a moment for a refused caller, in its place if it has one; return what to tell it."""
    assert call.workload_class is not None, "an untagged call is not retryable"
    if len(state.promises) >= MOST_PROMISES and call.key not in state.promises:
        return spread(call, moment, moment - state.at)
    until = min(moment + SECOND, call.deadline)
    state.promises[call.key] = Promise(call.workload_class, moment, until, call.costs)
    return moment


def spread(call: Offer, moment: int, span: int) -> int:
    """A moment less than `span` after `moment`, by the caller's key, and before its deadline."""
    later = span * (crc32(call.key.encode()) % 1000) // 1000
    return min(moment + _whole_milliseconds(later), max(moment, call.deadline - MILLISECOND))


class _Search:
    """Looks ahead on each limit that one refused call touches."""

    def __init__(
        self,
        terms: PoolTerms,
        state: PoolState,
        call: Offer,
        c: int,
        touched: Sequence[Standing],
    ) -> None:
        self.terms, self.state, self.call, self.c = terms, state, call, c
        self.splits = splits(terms, state)
        self.touched = {terms.limit_index[numbers.limit]: numbers for numbers in touched}
        before = takewhile(lambda held: held[0] != call.key, state.promises.items())
        self.earlier = [promised for _, promised in before if promised.workload_class <= c]
        self.ahead = self._promised()
        # Each call ahead may take up to the tolerance too much; half of it is left for that.
        self.enough = {
            d: TOLERANCE / 2 if ahead.all else TOLERANCE for d, ahead in self.ahead.items()
        }
        busy = [last + ACTIVITY for last in state.last_offered[:c] if last]
        self.quiet_at = max([state.at, *busy])

    def latest(self, gap: Gap) -> int:
        """When the gap is closed on every touched limit; past the deadline if not by then."""
        return max([self._closed_at(d, gap) for d in self.touched], default=self.state.at)

    def own_floor_can_hold(self) -> bool:
        """Whether the class's full floors would cover the call on every touched limit."""
        return all(
            numbers.cost + self.ahead[d].own <= self.splits[d].floors[self.c]
            for d, numbers in self.touched.items()
        )

    def _promised(self) -> dict[int, Ahead]:
        everyone, own = dict.fromkeys(self.touched, 0), dict.fromkeys(self.touched, 0)
        for promised in self.earlier:
            for d in everyone:
                everyone[d] += promised.costs[d]
                if promised.workload_class == self.c:
                    own[d] += promised.costs[d]
        return {d: Ahead(everyone[d], own[d]) for d in everyone}

    def _closed_at(self, d: int, gap: Gap) -> int:
        at, split, level = self.state.at, self.splits[d], self.state.levels[d]
        missing = gap(self.touched[d], self.ahead[d], split)
        if missing <= self.enough[d]:
            return at
        idle_at = max(level.idle_at(split, at), self.quiet_at)
        last = at + _whole_milliseconds(min(idle_at, self.call.deadline) - at)
        missing_last = self._gap_at(d, gap, last)
        if missing_last <= self.enough[d]:
            moment = self._first(d, gap, (at, missing), (last, missing_last))
            if isinstance(level, Gauge) and missing <= level.total:
                return min(moment, self._freed_at(level, missing))
            return moment
        if isinstance(level, Gauge):
            return min(
                self._freed_at(level, missing), max(last, self._freed_at(level, missing_last))
            )
        if isinstance(level, Window) and last >= idle_at:
            return self._promised_left(d, missing_last) + split.period * (SLOTS + 1) // SLOTS
        return last + int(missing_last / split.rate) + 1

    def _promised_left(self, d: int, missing: float) -> int:
        """The moment of the promised call with which those before it free what is missing."""
        moment = self.state.at
        for promised in sorted(self.earlier, key=lambda p: p.moment):
            if missing <= TOLERANCE:
                break
            missing -= promised.costs[d]
            moment = promised.moment
        return moment

    def _first(self, d: int, gap: Gap, open_: Look, closed: Look) -> int:
        """The first whole millisecond at which the gap is closed.

        Gaps are nearly linear in time, so interpolating finds it in a few looks; every
        other look halves the span, which bounds their number.
        """
        halve = False
        while closed[0] - open_[0] > MILLISECOND:
            steps = (closed[0] - open_[0]) // MILLISECOND
            part = 0.5 if halve else open_[1] / (open_[1] - closed[1])
            step = min(max(1, ceil(steps * part)), steps - 1)
            moment = open_[0] + step * MILLISECOND
            missing = self._gap_at(d, gap, moment)
            if missing <= self.enough[d]:
                closed = moment, missing
            else:
                open_ = moment, missing
            halve = not halve
        return closed[0]

    def _gap_at(self, d: int, gap: Gap, to: int) -> float:
        split = self.splits[d]
        level = self.state.levels[d].ahead(split, self.state.at, to)
        at_work = to < self.quiet_at
        numbers = standing(self.terms, self.c, split, level, self.call.costs[d], at_work)
        return gap(numbers, self.ahead[d], split)

    def _freed_at(self, level: Gauge, missing: float) -> int:
        """When the leases under way will have given back so much, by learned call times."""
        medians = [learned.value or UNLEARNED_CALL_TIME for learned in self.state.call_times]
        removed = level.total - sum(level.by_class)
        rate = removed / UNLEARNED_CALL_TIME
        rate += sum([held / median for held, median in zip(level.by_class, medians, strict=True)])
        return self.state.at + int(missing / (rate or 1 / UNLEARNED_CALL_TIME) * SECOND)


def _whole_milliseconds(span: int) -> int:
    return -(-span // MILLISECOND) * MILLISECOND


def _short(numbers: Standing, ahead: Ahead, split: Split) -> float:
    own_floor = numbers.own_floor - ahead.own
    usable = max(own_floor, numbers.free - numbers.headroom - ahead.all)
    return max(numbers.cost - usable, _short_of_ceiling(numbers, ahead))


def _short_of_floor(numbers: Standing, ahead: Ahead, split: Split) -> float:
    own_floor = numbers.own_floor - ahead.own
    return max(numbers.cost - own_floor, _short_of_ceiling(numbers, ahead))


def _short_of_ceiling(numbers: Standing, ahead: Ahead) -> float:
    if numbers.ceiling_left is None:
        return 0.0
    return numbers.cost - (numbers.ceiling_left - ahead.own)


def _above(numbers: Standing, split: Split, yields_above: float) -> float:
    """Scaled to the limit's unit; closed as soon as less than `yields_above` is spent."""
    excess = numbers.interactive_floors_spent - yields_above + TOLERANCE
    return 2 * TOLERANCE + excess * split.capacity if excess > 0 else 0.0
