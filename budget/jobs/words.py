"""Queues in words."""

from budget.services import QueueView

ORDERS = {"earliest_deadline": "earliest deadline first", "newest_first": "newest first"}
NOBODY_WAITS, NONE_TAKEN = "nobody waits", "none is taken"


def span(seconds: float) -> str:
    """A span of time as people say it: `0.4 s`, `12 s`, `4 min 10 s`, `3 h 20 min`, `2 d 5 h`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, unit, smaller, name in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min")):
        if whole >= size:
            return f"{whole // size:,} {unit} {whole % size // smaller} {name}"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"


def oldest_wait(seconds: float | None) -> str:
    """How long the oldest job has waited."""
    return NOBODY_WAITS if seconds is None else span(seconds)


def expected_wait(seconds: float | None) -> str:
    """How long a job that comes now would wait."""
    return NONE_TAKEN if seconds is None else span(seconds)


def waits_for(view: QueueView) -> str:
    """Why nothing is taken right now: `pool exhausted`; empty when nothing is in the way."""
    return (view.waits_for or "").replace("_", " ")


def bounds(jobs: int | None, tokens: int | None) -> str:
    """How much may wait: `1,000 jobs, 2,000,000 tokens`."""
    held = ((jobs, "jobs"), (tokens, "tokens"))
    return ", ".join(f"{most:,} {unit}" for most, unit in held if most is not None) or "no bound"
