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

    @property
    def strength(self) -> int:
        """By what claims were multiplied at the end."""
        return self._seconds[-1].strength if self._seconds else 1

    def tally(self, workload_class: str) -> Tally:
        """What became of one class's work."""
        return reduce(Tally.plus, self._of(workload_class), Tally())

    def wait_ms(self, part: float) -> int | None:
        """Within how many milliseconds so many of the adjusters' answers came; None of none."""
        return quantile(self._waits, part)

    def turned_away_per_second(self, workload_class: str) -> float | None:
        """Refused or expired, on the average; None of no seconds."""
        if not self._seconds:
            return None
        return sum(each.turned_away for each in self._of(workload_class)) / len(self._seconds)

    def _of(self, workload_class: str) -> list[Tally]:
        tallies = (second.tallies.get(workload_class) for second in self._seconds)
        return [tally for tally in tallies if tally is not None]


def quantile(values: Collection[int], part: float) -> int | None:
    """The smallest value that so great a part of them doesn't exceed; None of none."""
    return sorted(values)[math.ceil(part * len(values)) - 1] if values else None
