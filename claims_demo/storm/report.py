"""What the storm tells about itself, as lines of JSON."""

import msgspec


class Tally(msgspec.Struct):
    """What became of one service's calls, as the service saw it."""

    calls: int = 0
    """Begun; the rest of them below, or still under way."""
    in_time: int = 0
    late: int = 0
    """Answered after the deadline."""
    gave_up: int = 0
    """Refused for good, or until after the deadline."""
    failed: int = 0
    """Without a decision, or settled in vain."""
    faults: dict[str, int] = {}
    """What went wrong, in words."""
    offered: int = 0
    """Decisions asked for and got: a refused call that comes back is offered again."""
    admitted: int = 0
    shed: dict[str, int] = {}
    """Decisions by reason."""
    settled_tokens: int = 0

    @property
    def finished(self) -> int:
        """Calls whose end is known."""
        return self.in_time + self.late + self.gave_up + self.failed

    @property
    def shed_total(self) -> int:
        """All refusals."""
        return sum(self.shed.values())


class Report(msgspec.Struct):
    """All tallies at one moment."""

    elapsed: float
    """Seconds since the storm process began."""
    is_storm: bool
    storms: int
    """How many have broken so far."""
    tallies: dict[str, Tally]
    """By workload class."""


class Orders(msgspec.Struct):
    """What the storm is told, as one line on its standard input."""

    url: str
    keys: dict[str, str]
    """API key by workload class."""
    first_calm: float
