"""How a ticket asks for jobs: pool by pool, no more than there are threads, and not in vain."""

import time
from collections.abc import Sequence
from uuid import UUID

from budget import services
from budget.jobs import attempts
from budget.jobs.crew import Crew
from budget.rule.terms import Tier
from budget.services import TakenJob, UnknownPool

FRUITFUL_SECONDS = 0.2
"""How long pools that give jobs are asked for more before another look at all of them."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds; after a taking that brought nothing, doubled as long as none does."""


class Taking:
    """Takes jobs of some tiers, from whichever pools have any."""

    def __init__(self, tiers: Sequence[Tier]) -> None:
        self._tiers = tiers
        self._pause = SHORTEST_PAUSE
        self._looked = 0.0
        self._fruitful: list[int] = []
        """Pools that gave jobs the last time, and so may have more."""
        self._turns: dict[int, int] = {}
        """By pool: its place in the order of takings, so that each has its turn."""

    def start_on(self, crew: Crew) -> float | None:
        """Start on the crew what may start now; when to try again.

        In seconds from now: 0 if it is worth it at once, None while nothing waits.
        """
        ready = self._fruitful
        if not ready or time.monotonic() > self._looked + FRUITFUL_SECONDS:
            self._looked = time.monotonic()
            waits = services.due(self._tiers)
            ready = [pool for pool, seconds in waits.items() if seconds <= 0]
            if not ready:
                self._fruitful = []
                return min(waits.values(), default=None)
        ready.sort(key=lambda pool: self._turns.get(pool, 0))
        self._fruitful = [
            pool for i, pool in enumerate(ready) if self._start(crew, pool, len(ready) - i)
        ]
        if self._fruitful:
            self._pause = SHORTEST_PAUSE
            return 0.0
        pause, self._pause = self._pause, min(LONGEST_PAUSE, 2 * self._pause)
        return pause

    def _start(self, crew: Crew, pool: int, sharing: int) -> bool:
        """Start a pool's part of what there are threads for; whether there was anything."""
        if not (most := -(-crew.free // sharing)):
            return False
        try:
            taken = services.take(pool, self._tiers, most)
        except UnknownPool:
            return False
        self._turns[pool] = max(self._turns.values(), default=0) + 1
        self._hand_over(crew, taken.jobs)
        return bool(taken.jobs)

    def _hand_over(self, crew: Crew, jobs: list[TakenJob]) -> None:
        """Start those that are still to run; if nobody can tell, all go back at once."""
        own: set[UUID] = set()
        try:
            own = attempts.running_calls([job.id for job in jobs])
        finally:
            for job in jobs:
                if job.call_id in own:
                    crew.start(job)
                else:
                    crew.give_back(job)
