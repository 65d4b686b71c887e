"""What some seconds of a storm come to together."""

import math
from collections.abc import Collection, Sequence
from functools import reduce

from claims_demo.models.storm import StormSecond
from claims_demo.storm.tally import Tally


class Span:
    """Seconds on end, or none."""

    def __init__(self, seconds: Sequence[StormSecond]) -> None:
        self._seconds = seconds
        self._waits = [wait for second in seconds for wait in second.waits_ms]
        if seconds:
            self._waits += seconds[-1].late_ms

    @property
    def strength(self) -> int:
        """By what claims were multiplied at the end."""
        return self._seconds[-1].strength if self._seconds else 1

    def tally(self, workload_class: str) -> Tally:
        """What became of one class's work."""
        return reduce(Tally.plus, self._of(workload_class), Tally())

    def wait_ms(self, part: float) -> int | None:
        """How many milliseconds so great a part of the adjusters waited at most; None of none.

        Of those who wait still, the late ones count with what they have waited.
        """
        return quantile(self._waits, part)

    def per_second(self, count: int) -> float | None:
        """So much, spread over the time from the first second to the last; None of no seconds."""
        if not self._seconds:
            return None
        # A busy storm may account for several seconds in one.
        time = self._seconds[-1].at - self._seconds[0].at
        return count / (1 + time.total_seconds())

    def _of(self, workload_class: str) -> list[Tally]:
        tallies = (second.tallies.get(workload_class) for second in self._seconds)
        return [tally for tally in tallies if tally is not None]


def quantile(values: Collection[int], part: float) -> int | None:
    """The smallest value that so great a part of them doesn't exceed; None of none."""
    return sorted(values)[math.ceil(part * len(values)) - 1] if values else None
