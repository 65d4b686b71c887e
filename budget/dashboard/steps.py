"""The steps of a chart: what is known of each, what the policy allowed, what is missing."""

from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from budget.dashboard.figure import Value, number
from budget.services import FloorsSince, UsageHistory

MINUTE = timedelta(minutes=1)
TICK = timedelta(microseconds=1)


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
        self.known = [minutes is not None for minutes in history.minutes]
        self._minutes = history.minutes
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

    @cached_property
    def policies(self) -> list[FloorsSince]:
        """The floors in force as each step ended, or now if it goes on."""
        ends = [min(time + self.step, max(self.at, time)) for time in self.times]
        return [self._in_force(end - TICK) for end in ends]

    def floors_of(self, slug: str) -> list[Value]:
        """A class's nominal floor in each step, so much a minute."""
        floors = {since.version: number(since.per_minute.get(slug, 0.0)) for since in self._floors}
        return [floors[policy.version] for policy in self.policies]

    @cached_property
    def minutes(self) -> list[float]:
        """How many minutes of each step are recorded, or past of the minute that goes on.

        At least one, so that it can be divided by.
        """
        return [
            max(1.0, (minutes or 0) - self._ahead(n)) for n, minutes in enumerate(self._minutes)
        ]

    def _ahead(self, n: int) -> float:
        """Which part of the last minute of a step is still to come."""
        return 1 - self.at.second / 60 if n == self.open else 0.0

    def _in_force(self, moment: datetime) -> FloorsSince:
        return next((s for s in reversed(self._floors) if s.at <= moment), self._floors[0])
