"""The three kinds of limit: token bucket, sliding window, gauge.

Each knows what is available, each class's unspent floor, and how a charge, a refund and
an overrun change it; how time changes it, and when time alone will have made it idle.
`c` is a class's position, None for a class since removed. Amounts are in the limit's
unit, moments in microseconds since the epoch.
"""

from budget.rule.bucket import Bucket
from budget.rule.gauge import Gauge
from budget.rule.meter import Meter
from budget.rule.split import Split
from budget.rule.window import Window

Level = Bucket | Window | Gauge


def full(split: Split) -> Level:
    """A limit nobody has drawn on yet."""
    classes = len(split.shares)
    if split.terms.algorithm == "sliding_window":
        return Window([0] * classes)
    if split.terms.algorithm == "gauge":
        return Gauge([0] * classes)
    ceilings = {c: Meter(split.ceiling(c)) for c in range(classes) if split.limited(c)}
    return Bucket(Meter(split.capacity), list(split.floors), ceilings)
