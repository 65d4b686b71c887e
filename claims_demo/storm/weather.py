"""How strong the storm is while nobody chooses: calm first, then storm and calm by turns."""

from dataclasses import dataclass

STRENGTHS = (1, 4, 10)
"""By what the volume of claims may be multiplied: an ordinary day, a bad one, a storm."""
CALM, STORM = STRENGTHS[0], STRENGTHS[-1]


@dataclass(frozen=True)
class Weather:
    """Storms between calms, all in seconds from the start."""

    first_calm: float = 4.0
    storm: float = 30.0
    calm: float = 20.0

    def strength(self, elapsed: float) -> int:
        """By what claims are multiplied `elapsed` seconds after the start."""
        since = elapsed - self.first_calm
        return STORM if since >= 0 and since % (self.storm + self.calm) < self.storm else CALM
