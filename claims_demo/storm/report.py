"""What the storm is told, and what it tells about itself, as lines of JSON."""

import msgspec

from claims_demo.storm.tally import Tally


class Orders(msgspec.Struct):
    """One line on the storm's standard input."""

    url: str
    """Where the claims platform is."""
    username: str
    password: str
    """An adjuster's."""
    first_calm: float
    """Seconds before the first storm breaks."""


class Report(msgspec.Struct):
    """All that happened so far; one line on its standard output each second."""

    elapsed: float
    """Seconds since the storm began."""
    strength: int
    strongest: int
    """The greatest strength so far."""
    tallies: dict[str, Tally]
    """By workload class."""
    waiting: dict[str, int]
    """Likewise: questions whose adjuster waits, jobs in the queue."""
    at_provider: int
    """Jobs sent in batches whose results aren't there yet."""
    least_free_percent: float | None
    """What was left at least, in the storm, of the part of a limit that nobody is promised."""
    p95_ms: int | None
    """How many milliseconds 95 % of the latest questions waited at most, those that are late
    and still open included."""
