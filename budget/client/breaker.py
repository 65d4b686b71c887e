"""Remembers that the service is away, so that not every call has to find out for itself."""

import random
import threading
import time
from collections.abc import Callable

SHORTEST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
"""Seconds between two looks whether it is back."""

_chance = random.Random()
"""Apart from the chance of the program around, which may be seeded."""


class Breaker:
    """Open while the service is away. Whoever looks whether it is back closes it.

    Each time it opens without a call having been decided in between, the pause doubles, up to
    LONGEST_PAUSE: a service that is up but can't decide must not be tried by every call.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._pause = SHORTEST_PAUSE
        self._next_look: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether the service is taken to be away."""
        return self._next_look is not None

    @property
    def seconds_until_look(self) -> float | None:
        """Until the next look whether it is back; None while it is there."""
        next_look = self._next_look
        return None if next_look is None else max(0.0, next_look - self._clock())

    def trip(self) -> bool:
        """The service was found to be away. Gives whether that is news."""
        with self._guard:
            news = self._next_look is None
            if news:
                self._rest()
            return news

    def still_away(self) -> None:
        """A look found nobody."""
        with self._guard:
            self._rest()

    def close(self) -> bool:
        """It answers again. Gives whether that is news."""
        with self._guard:
            news, self._next_look = self._next_look is not None, None
            return news

    def works(self) -> None:
        """A call was decided: all is well."""
        # Unguarded, since it is on every call's way and losing a race does no harm.
        if self._pause != SHORTEST_PAUSE and self._next_look is None:
            self._pause = SHORTEST_PAUSE

    def _rest(self) -> None:
        # Spread, so that the processes that lost it together don't come back together.
        self._next_look = self._clock() + self._pause * _chance.uniform(0.75, 1.25)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
