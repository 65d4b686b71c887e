"""What calls of one kind used before, and what to reserve for the next of them.

A call is compared with those of about its size: for short questions the answer decides about the
total, for long documents the question does. From what those would have used at this call's size,
the reservation is the least for which the fewest of them lie outside of [reservation / 1.5,
reservation]. Where they are alike, that holds them all; where they differ too much for any
reservation to suit them, it gives up the extremes on either side.

How much an overrun weighs against a reservation that is too large is learned as well ("adaptive
conformal inference", Gibbs and Candès, 2021): each overrun raises the weight and each other call
lowers it a little, so that in the long run `OVERRUNS` of the calls overrun, whatever they do.
"""

import math
import operator
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

KEPT = 1000
"""Calls that are remembered; about 150 kB."""
ALIKE = 80
"""Of them, those a call is compared with."""
TOO_LARGE = 1.5
"""Beyond so many times what was used, a reservation keeps others out."""
OVERRUNS = 0.045
STEP = 0.05
LEAST_WEIGHT, MOST_WEIGHT = 1 / 8, 64.0
RARE, SELDOM = 0.95, 0.85
"""The parts of calls that an output, and the input beside it, suffice for."""


class Seen(NamedTuple):
    """A call that ended. Ordered by its size."""

    plain_input: float
    """Its input by defaults alone."""
    number: int
    scale: float
    """Its real input over that."""
    output: float
    """Per choice."""


class Past:
    """The calls of one model in one workload class. Not thread-safe."""

    def __init__(self) -> None:
        self.weight = 1.0
        self._newest: deque[Seen] = deque()
        self._by_size: list[Seen] = []
        self._number = 0

    def __len__(self) -> int:
        return len(self._by_size)

    def add(self, plain_input: float, used_input: float, output: float) -> None:
        """Remember a call, and forget the oldest beyond `KEPT`."""
        self._number += 1
        seen = Seen(plain_input, self._number, used_input / plain_input, output)
        self._newest.append(seen)
        insort(self._by_size, seen)
        if len(self._newest) > KEPT:
            del self._by_size[bisect_left(self._by_size, self._newest.popleft())]

    def correct(self, overran: bool) -> None:
        """Learn from how the reservation for a call compared with what it used."""
        raised = self.weight * math.exp(STEP * (overran - OVERRUNS))
        self.weight = min(MOST_WEIGHT, max(LEAST_WEIGHT, raised))

    def input_of(self, plain_input: float) -> float:
        """Input that a call of this size rarely exceeds."""
        scales = sorted(seen.scale for seen in self._alike(plain_input))
        return plain_input * at(scales, RARE)

    def both_of(self, plain_input: float, choices: int, most_output: float) -> tuple[float, float]:
        """Input and output to reserve for a call of this size; together they are what matters.

        The output is one that calls rarely exceed, as far as it leaves an input that they seldom
        do; the input has the rest. Each is at least as much as half of the calls use.
        """
        alike = self._alike(plain_input)
        inputs = [plain_input * seen.scale for seen in alike]
        outputs = [min(choices * seen.output, most_output) for seen in alike]
        totals = sorted(map(operator.add, inputs, outputs))
        inputs.sort()
        outputs.sort()
        total = fitting(totals, self.weight)
        usual_input, usual_output = at(inputs, 0.5), at(outputs, 0.5)
        output = max(usual_output, min(at(outputs, RARE), total - at(inputs, SELDOM)))
        return max(usual_input, total - output), output

    def usual_scale(self) -> float:
        """The scale of half the calls remembered."""
        return at(sorted(seen.scale for seen in self._by_size), 0.5)

    def _alike(self, plain_input: float) -> list[Seen]:
        """The calls next in size to either side; of too many of just this size, the newest."""
        first = bisect_left(self._by_size, plain_input, key=_size)
        after = bisect_right(self._by_size, plain_input, first, key=_size)
        start = max((first + after - ALIKE) // 2, after - ALIKE)
        start = max(0, min(start, len(self) - ALIKE))
        return self._by_size[start : start + ALIKE]


_size = operator.attrgetter("plain_input")


def fitting(totals: Sequence[float], weight: float) -> float:
    """Of sorted totals the one that costs least as a reservation.

    Each larger total costs `weight`, each that it exceeds more than `TOO_LARGE` times costs 1.
    """
    best, least, wasted = totals[-1], math.inf, 0
    for place, total in enumerate(totals):
        while totals[wasted] * TOO_LARGE < total:
            wasted += 1
        cost = weight * (len(totals) - 1 - place) + wasted
        if cost < least:
            best, least = total, cost
    return best


def at(values: Sequence[float], part: float) -> float:
    """The value that so great a part of sorted values doesn't exceed."""
    return values[max(0, math.ceil(part * len(values)) - 1)]
