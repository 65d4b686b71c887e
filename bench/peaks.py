"""By how much a limit was exceeded, recomputed from what was drawn from it.

Independent of the rule: it knows the definitions of the algorithms, not their code.
Moments and spans are whole microseconds; draws must be in order of time.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Draw(NamedTuple):
    """What one admitted call took of a limit, net of its refund and without overrun."""

    at: int
    amount: int
    returned_at: int | None = None
    """When a gauge got it back."""


def bucket_excess(draws: Sequence[Draw], capacity: float, per_microsecond: float) -> float:
    """Units drawn from a bucket, full at first, beyond what it held."""
    level = lowest = capacity
    last = draws[0].at if draws else 0
    for draw in draws:
        level = min(capacity, level + per_microsecond * (draw.at - last)) - draw.amount
        lowest = min(lowest, level)
        last = draw.at
    return max(0.0, -lowest)


def window_excess(draws: Sequence[Draw], amount: int, period: int) -> float:
    """Units drawn beyond the amount in the worst span of one period."""
    inside = worst = first = 0
    for draw in draws:
        inside += draw.amount
        while draws[first].at <= draw.at - period:
            inside -= draws[first].amount
            first += 1
        worst = max(worst, inside)
    return max(0.0, float(worst - amount))


def gauge_excess(draws: Sequence[Draw], amount: int) -> float:
    """Units held at once beyond the amount."""
    changes = [(draw.at, draw.amount) for draw in draws]
    changes += [(draw.returned_at, -draw.amount) for draw in draws if draw.returned_at is not None]
    held = worst = 0
    for _, change in sorted(changes):
        held += change
        worst = max(worst, held)
    return max(0.0, float(worst - amount))
