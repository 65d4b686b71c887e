"""Limits as pages name them: `total tokens per minute` for `total_tokens/token_bucket`."""

import re
from collections.abc import Iterable, Mapping
from typing import Protocol

from budget.rule.terms import ALGORITHMS, UNITS

PERIODS = {1: "second", 60: "minute", 3600: "hour", 86_400: "day"}
BATCH = "batch endpoint: "
CODES = re.compile(rf"\b(?:{'|'.join(UNITS)})/(?:{'|'.join(ALGORITHMS)})\b")

Periods = Mapping[str, int]
"""Seconds by name of the limit, as far as they are known."""


class Limited(Protocol):
    """A limit, of the stored policy or of the rule's terms."""

    @property
    def unit(self) -> str:
        """What it counts."""
        ...

    @property
    def algorithm(self) -> str:
        """How it counts."""
        ...

    @property
    def per_seconds(self) -> int:
        """In which time."""
        ...


def periods_of(limits: Iterable[Limited]) -> Periods:
    """The periods of a pool's limits, or of those of its batch endpoint."""
    return {f"{limit.unit}/{limit.algorithm}": limit.per_seconds for limit in limits}


def limit_in_words(name: str, periods: Periods, of_batch: bool = False) -> str:
    """`total tokens per minute`, `requests at once`, `batch endpoint: total tokens at once`.

    One whose period isn't known is told apart by its algorithm: `requests, token bucket`.
    """
    unit, _, algorithm = name.replace("_", " ").partition("/")
    endpoint = BATCH if of_batch else ""
    if algorithm == "gauge":
        return f"{endpoint}{unit} at once"
    if name not in periods:
        return f"{endpoint}{unit}, {algorithm}"
    every = "in any" if algorithm == "sliding window" else "per"
    return f"{endpoint}{unit} {every} {period_in_words(periods[name])}"


def period_in_words(seconds: int) -> str:
    """`minute`, `90 s`."""
    return PERIODS.get(seconds, f"{seconds:,} s")


def limits_named(text: str, periods: Periods) -> str:
    """A text with each limit in it named as pages do."""
    return CODES.sub(lambda found: limit_in_words(found[0], periods), text)
