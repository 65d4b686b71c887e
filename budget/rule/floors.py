"""Floors in force: what is promised to whom, and what that leaves to the others."""

from collections.abc import Sequence


def effective_floors(
    tiers: Sequence[Sequence[int]], unspent: Sequence[float], available: float
) -> Sequence[float]:
    """Scale unspent floors to what there is, strictest tier first.

    `tiers` groups class positions, strictest tier first; `unspent` is each class's
    unspent floor. Both it and the result are in the limit's unit. Floors never promise
    more than `available`: a tier whose floors exceed what stricter tiers left gets what
    is left in proportion.
    """
    if sum(unspent) <= available:
        return unspent
    floors = [0.0] * len(unspent)
    remaining = max(0.0, available)
    for tier in tiers:
        promised = sum([unspent[c] for c in tier])
        if promised <= remaining:
            for c in tier:
                floors[c] = unspent[c]
            remaining -= promised
        else:
            for c in tier:
                floors[c] = unspent[c] * remaining / promised
            remaining = 0.0
    return floors


def fill(
    credits: list[float], caps: Sequence[float], weights: Sequence[float], amount: float
) -> float:
    """Pour `amount` into unfilled credits in proportion to `weights`; return what did not fit.

    A credit that fills up on the way passes its part on to the others.
    """
    while amount > 0:
        unfilled = [c for c, cap in enumerate(caps) if credits[c] < cap]
        total = sum([weights[c] for c in unfilled])
        if not total:
            break
        first = min(unfilled, key=lambda c: (caps[c] - credits[c]) / weights[c])
        step = min(amount, (caps[first] - credits[first]) / weights[first] * total)
        for c in unfilled:
            credits[c] += step * weights[c] / total
        if step < amount:
            credits[first] = caps[first]
        amount -= step
    return amount
