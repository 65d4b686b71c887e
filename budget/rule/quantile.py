"""A quantile learned one observation at a time, in constant space."""

from math import exp

import msgspec


class Quantile(msgspec.Struct, array_like=True):
    """Follows the `rank` quantile of a positive quantity by small multiplicative steps.

    Robbins and Monro's stochastic approximation on the logarithm: each observation above
    the estimate moves it up by `rank` steps, each below moves it down by `1 - rank`, so
    that it rests where the two balance. The step shrinks to `SMALLEST_STEP`, which keeps
    it following a slow drift.
    """

    rank: float
    value: float = 0.0
    observed: int = 0

    def observe(self, value: float) -> None:
        """Learn from one observation; the first is taken as it is."""
        value = max(value, 1e-6)
        if not self.observed:
            self.value = value
        else:
            step = max(SMALLEST_STEP, 1 / (1 + self.observed))
            toward = self.rank if value > self.value else self.rank - 1
            self.value *= exp(step * toward)
        self.observed += 1


SMALLEST_STEP = 0.05
