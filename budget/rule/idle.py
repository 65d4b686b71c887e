"""What an idle pool offers: the yardstick for calls that never fit and for policies."""

from budget.rule.split import Split
from budget.rule.strategies import reserved_splits
from budget.rule.terms import PoolTerms, kept_with_terms
from budget.rule.window import SLOTS


@kept_with_terms
def largest_calls(terms: PoolTerms) -> tuple[tuple[float, ...], ...]:
    """`[c][d]`: the largest call of class c that limit d could ever admit, in d's unit.

    The class's own full floor, or what other full floors leave of an idle limit,
    whichever is more, and no more than its ceiling.
    """
    return tuple(
        tuple(_largest_call(c, split) for split in reserved_splits(terms))
        for c in range(len(terms.classes))
    )


def _largest_call(c: int, split: Split) -> float:
    largest = max(split.floors[c], split.capacity - idle_protected(c, split))
    return min(largest, split.ceiling(c))


def idle_protected(c: int, split: Split) -> float:
    """What class c must leave alone when every floor is full, in the limit's unit."""
    return sum([guard.part * split.floors[guard.owner] for guard in split.guards[c]])


def reach(terms: PoolTerms, c: int, d: int) -> float:
    """Which fraction of limit d's flow class c gets when it alone calls, 0 to 1.

    All of a bucket: its floors are a stock that stays full while refill passes by. On a
    window or gauge idle floors are idle capacity, and of a window one slot in 61 is
    always on its way out.
    """
    split = reserved_splits(terms)[d]
    if split.terms.algorithm == "token_bucket":
        return min(1.0, split.ceilings[c])
    part = min(1 - idle_protected(c, split) / split.capacity, split.ceilings[c])
    part = max(part, split.shares[c])
    return part * SLOTS / (SLOTS + 1) if split.terms.algorithm == "sliding_window" else part
