"""What would have had to be different for a call to be admitted, by the numbers of its decision.

A way is a set of changes that together would have been enough. None of them can be left
out or be made smaller: the rule itself says so, put to the changed numbers.
"""

from collections.abc import Callable, Mapping
from math import floor, inf
from typing import Literal, NamedTuple

from budget.rule.decide import Obstacle, lack
from budget.rule.decision import TOLERANCE, Reason, Standing

BEFORE: frozenset[Reason] = frozenset({"paused", "deadline_unmeetable", "provider_backoff"})
"""Reasons that hold whatever the numbers are."""

What = Literal["reason", "cost", "own_floor", "protected", "headroom", "ceiling", "yields_above"]


class Change(NamedTuple):
    """One thing that would have been different."""

    what: What
    where: str = ""
    """The limit; of a `cost` its unit, of a `reason` the reason that would not have held."""
    amount: float | None = None
    """What it would have been; None for a reason, and for a class that wouldn't yield."""

    def concerns(self, limit: str) -> bool:
        """Whether it changes something on that limit."""
        return self.where == (unit_of(limit) if self.what == "cost" else limit)


Way = tuple[Change, ...]


class Numbers(NamedTuple):
    """What a decision rested on."""

    standings: tuple[Standing, ...]
    before: Reason | None = None
    """Why it was shed whatever the numbers, if it was."""
    yields_above: float | None = None
    largest: Mapping[str, float] = {}
    """The largest call that each limit could ever admit."""

    def obstacle(self) -> Obstacle | None:
        """The first reason that holds against the call, as the rule tests them."""
        if self.before is not None:
            return self.before, None
        for standing in self.standings:
            if standing.cost > self.largest.get(standing.limit, inf) + TOLERANCE:
                return "never_fits", standing.limit
        return lack(self.yields_above, self.standings)

    def of(self, limit: str) -> Standing:
        """The numbers of one limit."""
        return next(standing for standing in self.standings if standing.limit == limit)

    def after(self, change: Change) -> "Numbers":
        """The numbers as they would have been."""
        if change.what == "reason":
            return self._replace(before=None)
        if change.what == "yields_above":
            return self._replace(yields_above=change.amount)
        assert change.amount is not None, "all others have an amount"
        return self._replace(
            standings=tuple(
                _changed(standing, change.what, change.amount)
                if change.concerns(standing.limit)
                else standing
                for standing in self.standings
            ),
            largest={
                limit: max(most, change.amount)
                if change.what == "own_floor" and change.concerns(limit)
                else most
                for limit, most in self.largest.items()
            },
        )


def unit_of(limit: str) -> str:
    """What a limit of that name counts."""
    return limit.partition("/")[0]


def ways(numbers: Numbers) -> list[Way]:
    """What would have let the call in: a smaller call, an own floor, or others' terms eased.

    Each way lifts a reason that holds whatever the numbers first. Empty for an admitted
    call, and where nothing of all this would have helped.
    """
    first: Way = () if numbers.before is None else (Change("reason", numbers.before),)
    lifted = _after(numbers, first)
    if lifted.obstacle() is None:
        return [first] if first else []
    found = (_smaller(lifted), _cleared(lifted, _reserved), _cleared(lifted, _eased))
    return list(dict.fromkeys(first + way for way in found if way))


def _changed(standing: Standing, what: What, amount: float) -> Standing:
    match what:
        case "cost":
            return standing._replace(cost=int(amount))
        case "own_floor":
            return standing._replace(own_floor=amount)
        case "headroom":
            return standing._replace(headroom=amount)
        case "ceiling":
            return standing._replace(ceiling_left=amount)
    return standing._replace(free=standing.available - amount)


def _smaller(numbers: Numbers) -> Way | None:
    """A call that is smaller in every unit in which it was too large."""
    for usable in (_usable, _usable_within_floor):
        most: dict[str, int] = {}
        for standing in numbers.standings:
            fits = floor(min(usable(standing), _bound(numbers, standing)) + TOLERANCE)
            if standing.cost > fits:
                unit = unit_of(standing.limit)
                most[unit] = min(fits, most.get(unit, fits))
        if "requests" in most or any(amount < 1 for amount in most.values()):
            continue
        way = tuple(Change("cost", unit, amount) for unit, amount in most.items())
        if _after(numbers, way).obstacle() is None:
            return way
    return None


def _usable(standing: Standing) -> float:
    return max(standing.own_floor, standing.free - standing.headroom)


def _usable_within_floor(standing: Standing) -> float:
    return standing.own_floor


def _bound(numbers: Numbers, standing: Standing) -> float:
    left = inf if standing.ceiling_left is None else standing.ceiling_left
    return min(left, numbers.largest.get(standing.limit, inf))


Remedy = Callable[[Numbers, Reason, str | None], Way]


def _cleared(numbers: Numbers, remedy: Remedy) -> Way | None:
    """One obstacle after the other out of the way; None if the remedy knows nothing for one."""
    way: Way = ()
    while (obstacle := numbers.obstacle()) is not None:
        changes = remedy(numbers, *obstacle)
        # Amounts beyond a float's precision could be changed for ever.
        if not changes or set(changes) & set(way):
            return None
        numbers = _after(numbers, changes)
        way += changes
    return way


def _after(numbers: Numbers, way: Way) -> Numbers:
    for change in way:
        numbers = numbers.after(change)
    return numbers


def _reserved(numbers: Numbers, reason: Reason, limit: str | None) -> Way:
    """As much of an own floor left as the call costs."""
    if reason == "ceiling":
        return _eased(numbers, reason, limit)
    short = [
        standing
        for standing in numbers.standings
        if (not standing.within_floor if reason == "yielding" else standing.limit == limit)
    ]
    return tuple(Change("own_floor", standing.limit, float(standing.cost)) for standing in short)


def _eased(numbers: Numbers, reason: Reason, limit: str | None) -> Way:
    """The very term that stood in the way, eased just enough."""
    assert limit is not None, "numbers are those of a limit"
    standing = numbers.of(limit)
    match reason:
        case "yielding":
            bound = standing.interactive_floors_spent + 2 * TOLERANCE
            return (Change("yields_above", "", bound if bound < 1 else None),)
        case "ceiling":
            return (Change("ceiling", limit, float(standing.cost)),)
        case "floor_protected":
            rest = standing.available - standing.cost
            rest = rest - standing.headroom if rest >= standing.headroom else rest
            return (Change("protected", limit, max(0.0, rest)),)
        case "headroom":
            return (Change("headroom", limit, max(0.0, standing.free - standing.cost)),)
    return ()
