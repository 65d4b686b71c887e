"""When all services spike together."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Weather:
    """Storms between calms, all in seconds from the start: calm first, then they alternate."""

    first_calm: float = 4.0
    storm: float = 30.0
    calm: float = 20.0

    def storms(self, elapsed: float) -> int:
        """How many storms have broken."""
        return int((elapsed - self.first_calm) // self._period) + 1

    def storm_seconds(self, elapsed: float) -> float:
        """How long it has been stormy, over all storms so far."""
        begun = self.storms(elapsed)
        if not begun:
            return 0.0
        since_last = elapsed - self.first_calm - (begun - 1) * self._period
        return (begun - 1) * self.storm + min(self.storm, since_last)

    def is_storm(self, elapsed: float) -> bool:
        """Whether a storm is raging."""
        return self.storms(elapsed) * self.storm > self.storm_seconds(elapsed)

    @property
    def _period(self) -> float:
        return self.storm + self.calm
