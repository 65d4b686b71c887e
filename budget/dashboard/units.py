"""What figures count, in words."""

from collections.abc import Iterable
from datetime import timedelta

UNITS = {
    "total_tokens": "tokens",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "requests": "requests",
}
DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)


def unit_in_words(unit: str | None) -> str:
    """What a limit counts; a pool without any limit charges nothing."""
    return UNITS[unit] if unit else "units"


def offers_in_words(queued: Iterable[bool]) -> str:
    """What classes offer, by whether each has a queue: `calls`, `jobs`, or `calls and jobs`."""
    kinds = set(queued)
    return "calls and jobs" if len(kinds) > 1 else "jobs" if True in kinds else "calls"


def in_a_step(step: timedelta) -> str:
    """`a minute`, `in 10 minutes`, `an hour`, `in 6 hours`, `a day`."""
    for length, one, many in ((DAY, "a day", "days"), (HOUR, "an hour", "hours")):
        if step % length == timedelta(0):
            return one if step == length else f"in {step // length} {many}"
    return "a minute" if step == MINUTE else f"in {step // MINUTE} minutes"
