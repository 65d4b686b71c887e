"""One call against one pool's state: the inequality of the rule, and its arithmetic."""

from collections.abc import Sequence

from budget.rule.decision import TOLERANCE, Drawn, Reason, Standing
from budget.rule.floors import effective_floors
from budget.rule.idle import largest_calls
from budget.rule.limits import Level
from budget.rule.pool import ACTIVITY, Offer, PoolState
from budget.rule.split import Split
from budget.rule.strategies import splits
from budget.rule.terms import PoolTerms

Obstacle = tuple[Reason, str | None]
"""Why a call is shed, and the name of the limit that says so, if one does."""


def standings(terms: PoolTerms, state: PoolState, call: Offer) -> list[Standing]:
    """The numbers of every limit the call touches, at the state's moment."""
    c = call.workload_class
    if c is None:
        return []
    at_work = stricter_at_work(state, c)
    return [
        standing(terms, c, split, level, cost, at_work)
        for split, level, cost in zip(splits(terms, state), state.levels, call.costs, strict=True)
        if cost
    ]


def standing(
    terms: PoolTerms, c: int, split: Split, level: Level, cost: int, stricter_at_work: bool
) -> Standing:
    """The numbers of one limit for a call of class c that costs `cost` there."""
    available = level.available(split)
    own_floor, protected, spent = 0.0, {}, 0.0
    if split.reserved:
        unspent = level.unspent(split)
        floors = effective_floors(terms.tiers, unspent, available)
        own_floor = floors[c]
        kept = floors_to_leave(terms, c, split, unspent, available)
        protected = {slug: kept[owner] for owner, slug, _ in split.guards[c] if kept[owner]}
        spent = _interactive_floors_spent(terms, split, unspent)
    headroom = terms.classes[c].headroom * split.unreserved if stricter_at_work else 0.0
    return Standing(
        limit=split.terms.name,
        cost=cost,
        available=available,
        own_floor=own_floor,
        protected=protected,
        headroom=headroom,
        free=available - sum(protected.values()),
        interactive_floors_spent=spent,
        ceiling_left=level.ceiling_left(split, c) if split.limited(c) else None,
    )


def floors_to_leave(
    terms: PoolTerms, c: int, split: Split, unspent: Sequence[float], available: float
) -> Sequence[float]:
    """The effective floors as class c meets them: of looser ones only the part not lent.

    Taken off before floors are scaled to what there is; else what a stricter class
    borrows would shrink the floors it borrows from, and the part not lent with them.
    """
    unlent = list(unspent)
    for owner, _, part in split.guards[c]:
        unlent[owner] *= part
    return effective_floors(terms.tiers, unlent, available)


def stricter_at_work(state: PoolState, c: int) -> bool:
    """Whether a class stricter than c was offered a call within the last 30 s."""
    since = max(0, state.at - ACTIVITY)
    return any(last > since for last in state.last_offered[:c])


def obstacle(
    terms: PoolTerms, state: PoolState, call: Offer, touched: Sequence[Standing]
) -> Obstacle | None:
    """The first of the closed set of reasons that holds against the call, or None."""
    c = call.workload_class
    if terms.paused or (c is not None and terms.classes[c].paused):
        return "paused", None
    if c is None:
        return "untagged", None
    for split, cost, largest in zip(
        splits(terms, state), call.costs, largest_calls(terms)[c], strict=True
    ):
        if cost > largest + TOLERANCE:
            return "never_fits", split.terms.name
    if call.deadline <= state.at:
        return "deadline_unmeetable", None
    if state.at < state.backoff_until[c]:
        return "provider_backoff", None
    return lack(terms.classes[c].yields_above, touched)


def lack(yields_above: float | None, touched: Sequence[Standing]) -> Obstacle | None:
    """What the numbers alone say against a call: it yields, or is short of something."""
    return _yielding(yields_above, touched) or _short(touched)


def _yielding(yields_above: float | None, touched: Sequence[Standing]) -> Obstacle | None:
    if yields_above is None or all(numbers.within_floor for numbers in touched):
        return None
    most = max(touched, key=lambda numbers: numbers.interactive_floors_spent)
    if most.interactive_floors_spent > yields_above - TOLERANCE:
        return "yielding", most.limit
    return None


def _short(touched: Sequence[Standing]) -> Obstacle | None:
    for numbers in touched:
        if numbers.ceiling_left is not None and numbers.cost > numbers.ceiling_left + TOLERANCE:
            return "ceiling", numbers.limit
    lacking = [numbers for numbers in touched if numbers.shortfall > TOLERANCE]
    for numbers in lacking:
        if numbers.cost > numbers.available + TOLERANCE:
            return "pool_exhausted", numbers.limit
    for numbers in lacking:
        if numbers.cost > numbers.free + TOLERANCE:
            return "floor_protected", numbers.limit
    return ("headroom", lacking[0].limit) if lacking else None


def drawn(terms: PoolTerms, state: PoolState, call: Offer) -> Drawn:
    """Where the cost on the leading limit will come from: own floor, free part, lent floors."""
    c, d = call.workload_class, terms.leading
    if c is None or d is None or not call.costs[d]:
        return Drawn()
    split, level = splits(terms, state)[d], state.levels[d]
    available, unspent = level.available(split), level.unspent(split)
    floors = effective_floors(terms.tiers, unspent, available)
    own = min(float(call.costs[d]), floors[c])
    beyond = call.costs[d] - own - max(0.0, available - sum(floors))
    if beyond <= 0:
        return Drawn(own)
    kept = floors_to_leave(terms, c, split, unspent, available)
    lendable = {slug: max(0.0, floors[j] - kept[j]) for j, slug, _ in split.guards[c]}
    total = sum(lendable.values())
    borrowed = min(beyond, total)
    if not borrowed:
        return Drawn(own)
    return Drawn(own, borrowed, {slug: borrowed * n / total for slug, n in lendable.items() if n})


def _interactive_floors_spent(terms: PoolTerms, split: Split, unspent: Sequence[float]) -> float:
    """Which fraction of the interactive floors on this limit is spent; 0 without any."""
    floor = left = 0.0
    for c in terms.interactive:
        floor += split.floors[c]
        left += unspent[c]
    return 1 - left / floor if floor else 0.0
