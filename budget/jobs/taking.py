"""How a ticket asks for jobs: pool by pool, no more than there are threads, and not in vain."""

from collections.abc import Sequence

from budget import services
from budget.jobs import attempts
from budget.jobs.crew import Crew
from budget.rule.terms import Tier
from budget.services import UnknownPool

SHORTEST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds; after a taking that brought nothing, doubled as long as none does."""


class Taking:
    """Takes jobs of some tiers, from whichever pools have any."""

    def __init__(self, tiers: Sequence[Tier]) -> None:
        self._tiers = tiers
        self._pause = SHORTEST_PAUSE
        self._turns: dict[int, int] = {}
        """By pool: its place in the order of takings, so that each has its turn."""

    def start_on(self, crew: Crew) -> float | None:
        """Start on the crew what may start now; when to try again.

        In seconds from now: 0 if it is worth it at once, None while nothing waits.
        """
        waits = services.due(self._tiers)
        ready = [pool for pool, seconds in waits.items() if seconds <= 0]
        ready.sort(key=lambda pool: self._turns.get(pool, 0))
        started = [self._start(crew, pool, len(ready) - i) for i, pool in enumerate(ready)]
        if any(started):
            self._pause = SHORTEST_PAUSE
            return 0.0
        if not ready:
            return min(waits.values(), default=None)
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
        own = attempts.current([job.id for job in taken.jobs])
        for job in taken.jobs:
            if job.call_id in own:
                crew.start(job)
            else:
                attempts.report(attempts.not_begun(job))
        return bool(taken.jobs)
