"""The services of the claims platform: how often they call, how large, how patiently."""

from dataclasses import dataclass
from random import Random

from claims_demo.storm.weather import Weather

SPEED = 4
"""How much faster the demo's model answers than a real one."""


@dataclass(frozen=True)
class Service:
    """One service of the platform, which tags all its calls with one workload class."""

    name: str
    workload_class: str
    deadline_seconds: float
    calm_per_second: float
    storm_per_second: float
    burst: int
    """Calls made at once when a storm breaks."""
    at_once: int
    """Calls it has under way at most, refused ones that will come back included."""
    input_tokens: tuple[int, int]
    max_output_tokens: int

    def calls_due(self, weather: Weather, elapsed: float) -> int:
        """How many calls it wants to have begun `elapsed` seconds after the start."""
        stormy = weather.storm_seconds(elapsed)
        return int(
            self.calm_per_second * (elapsed - stormy)
            + self.storm_per_second * stormy
            + self.burst * weather.storms(elapsed)
        )

    def size(self, random: Random) -> "Size":
        """How large the next call is; models rarely write as much as they are allowed to."""
        return Size(
            input_tokens=random.randint(*self.input_tokens),
            output_tokens=self.max_output_tokens,
            used_output_tokens=int(self.max_output_tokens * random.uniform(0.3, 1.0)),
        )


@dataclass(frozen=True)
class Size:
    """One call's tokens: what is asked for, and what the model will have written."""

    input_tokens: int
    output_tokens: int
    used_output_tokens: int

    @property
    def seconds(self) -> float:
        """How long the model takes: a start, then so much per token written."""
        return (0.5 + 0.02 * self.used_output_tokens) / SPEED


SERVICES = (
    Service(
        name="adjuster assistant",
        workload_class="adjuster",
        deadline_seconds=5,
        calm_per_second=0.8,
        storm_per_second=3.5,
        burst=5,
        at_once=60,
        input_tokens=(800, 1400),
        max_output_tokens=400,
    ),
    Service(
        name="re-score",
        workload_class="rescore",
        deadline_seconds=300,
        calm_per_second=0.2,
        storm_per_second=1,
        burst=30,
        at_once=60,
        input_tokens=(1500, 3500),
        max_output_tokens=700,
    ),
    Service(
        name="nightly classification",
        workload_class="nightly",
        deadline_seconds=28_800,
        calm_per_second=0.5,
        storm_per_second=8,
        burst=40,
        at_once=120,
        input_tokens=(3000, 7000),
        max_output_tokens=1000,
    ),
)
"""Each alone would be served; together their storm asks for several times what there is."""
