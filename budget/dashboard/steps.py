"""The steps of a chart: what is known of each, what the policy allowed, what is missing."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from budget.services import FloorsSince, UsageHistory

MINUTE = timedelta(minutes=1)


class Gap(NamedTuple):
    """Steps of which nothing is known, between ones of which something is."""

    start: datetime
    end: datetime


class Steps:
    """A history's steps."""

    def __init__(self, history: UsageHistory) -> None:
        self.times = history.times
        self.step = history.step
        self.at = history.at
        self.known = [allowed is not None for allowed in history.allowance]
        self._allowed = history.allowance
        self._floors = history.floors

    @property
    def open(self) -> int | None:
        """Which step still goes on."""
        n = (self.at - self.times[0]) // self.step
        return n if 0 <= n < len(self.times) else None

    @property
    def first(self) -> int | None:
        """The first step of which something is known."""
        return next((n for n, known in enumerate(self.known) if known), None)

    @property
    def gaps(self) -> list[Gap]:
        """Where the record breaks off and goes on later."""
        seen = [n for n, known in enumerate(self.known) if known]
        return [
            Gap(self.times[before] + self.step, self.times[after])
            for before, after in pairwise(seen)
            if after > before + 1
        ]

    def policy(self, n: int) -> FloorsSince:
        """The floors in force as step `n` ended, or now if it goes on."""
        end = min(self.times[n] + self.step, max(self.at, self.times[n]))
        return next((since for since in reversed(self._floors) if since.at < end), self._floors[0])

    def minutes(self, n: int) -> float:
        """How many minutes of step `n` are known; at least one, so that it can be divided by."""
        whole = self.step / MINUTE
        allowed, mean = self._allowed[n], self._mean_allowance(n)
        if allowed and mean:
            return min(whole, max(1.0, allowed / mean))
        return min(whole, max(1.0, (self.at - self.times[n]) / MINUTE))

    def _mean_allowance(self, n: int) -> float:
        """What the leading limit allowed in a minute of step `n`, on average."""
        start = self.times[n]
        end = start + self.step
        edges = [start, *(s.at for s in self._floors if start < s.at < end), end]
        parts = pairwise(edges)
        return sum(self._allowance_at(a) * ((b - a) / self.step) for a, b in parts)

    def _allowance_at(self, moment: datetime) -> int:
        held = (since.allowance for since in reversed(self._floors) if since.at <= moment)
        return next(held, self._floors[0].allowance)
