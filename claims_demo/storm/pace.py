"""How much is due at a rate that changes."""

import math


class Pace:
    """Whole events out of so many per second, multiplied by the storm's strength."""

    def __init__(self, per_second: float, most_per_second: float = math.inf) -> None:
        self._per_second = per_second
        self._most = most_per_second
        self._owed = 0.0

    def due(self, strength: int, seconds: float) -> int:
        """How many fall into the `seconds` that went by, with what was left over before."""
        self._owed += min(self._per_second * strength, self._most) * seconds
        whole = int(self._owed)
        self._owed -= whole
        return whole
