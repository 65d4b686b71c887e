"""How much is due at a rate that changes."""

import math

MOST_OWED_SECONDS = 1.0
"""Of work; whoever lags behind by more would go on with the storm in the calm."""


class Pace:
    """Whole events out of so many per second, multiplied by the storm's strength."""

    def __init__(self, per_second: float, most_per_second: float = math.inf) -> None:
        self._per_second = per_second
        self._most = most_per_second
        self._owed = 0.0

    def due(self, strength: int, seconds: float) -> int:
        """How many fall into the `seconds` that went by, with what was left over before."""
        rate = min(self._per_second * strength, self._most)
        self._owed += rate * min(seconds, MOST_OWED_SECONDS)
        whole = int(self._owed)
        self._owed -= whole
        return whole
