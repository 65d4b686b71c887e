"""Contenders measured in turn, because a machine's speed changes while one looks."""

from collections.abc import Callable, Mapping
from statistics import median
from typing import TypeVar

T = TypeVar("T")

Tell = Callable[[str], None]
"""Takes a line of progress."""


def in_turn(
    contenders: Mapping[str, Callable[[], T]], rounds: int, tell: Tell
) -> dict[str, list[T]]:
    """Measures each contender once per round, all of them before any again."""
    measured: dict[str, list[T]] = {name: [] for name in contenders}
    for number in range(1, rounds + 1):
        for name, measure in contenders.items():
            measured[name].append(measure())
            tell(f"{name}: round {number} of {rounds}: {measured[name][-1]}")
    return measured


def medians(measured: Mapping[str, list[float]]) -> dict[str, float]:
    """The median of each contender."""
    return {name: median(values) for name, values in measured.items()}
