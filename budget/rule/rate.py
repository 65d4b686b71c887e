"""How often something happens, as of late."""

from math import exp

import msgspec

from budget.rule.terms import SECOND

SPAN = 60 * SECOND
"""The span over which a rate is averaged."""


class Rate(msgspec.Struct, array_like=True):
    """Events per second, forgotten exponentially over `SPAN`; right from the start of a clock.

    Its clock may be any that counts microseconds from 0, also one that stands at times.
    """

    value: float = 0.0
    at: int = 0

    def count(self, now: int) -> None:
        """Count an event at a moment not before the last."""
        self.value = self._left(now) + SECOND / SPAN
        self.at = now

    def take_back(self, now: int, then: int) -> None:
        """What was counted at an earlier moment did not happen."""
        self.value = max(0.0, self._left(now) - SECOND / SPAN * exp(min(0, then - now) / SPAN))
        self.at = now

    def now(self, now: int) -> float:
        """The rate at a moment."""
        # What was before the clock began is not taken for nothing.
        return self._left(now) / (1 - exp(-max(now, SECOND) / SPAN))

    def _left(self, now: int) -> float:
        return self.value * exp(-max(0, now - self.at) / SPAN)
