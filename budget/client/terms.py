"""What callers know of a pool's policy while the service can't be asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from budget.client.verdict import Choice


@dataclass(frozen=True, slots=True)
class LimitTerms:
    """One ceiling of the pool, as DESIGN's policy file writes it."""

    name: str
    """`unit/algorithm`."""
    unit: str
    algorithm: str
    amount: float
    per_seconds: float
    capacity: float


@dataclass(frozen=True, slots=True)
class ClassTerms:
    """One workload class on the pool."""

    when_unavailable: Choice
    paused: bool = False
    floors: Mapping[str, float] = field(default_factory=dict)
    """By limit, the part of its capacity that is the class's floor."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A pool as `POST /callers` tells it."""

    provider: str
    limits: tuple[LimitTerms, ...]
    classes: Mapping[str, ClassTerms]
    untagged: str | None
    """The class that untagged calls fall into."""
    processes: int
    """How many processes call the pool, this one included."""


def terms_of(body: Mapping[str, Any]) -> Terms:
    """The terms in an answer. Raises KeyError, TypeError or ValueError for anything else."""
    return Terms(
        provider=str(body["provider"]),
        limits=tuple(_limit(row) for row in body["limits"]),
        classes={slug: _class(row) for slug, row in body["classes"].items()},
        untagged=body["untagged"],
        processes=max(1, int(body["processes"])),
    )


def _limit(row: Mapping[str, Any]) -> LimitTerms:
    return LimitTerms(
        name=f"{row['unit']}/{row['algorithm']}",
        unit=row["unit"],
        algorithm=row["algorithm"],
        amount=float(row["amount"]),
        per_seconds=float(row["per_seconds"]),
        capacity=float(row["capacity"]),
    )


def _class(row: Mapping[str, Any]) -> ClassTerms:
    choice = row["when_unavailable"]
    if choice not in ("admit", "shed", "local"):
        raise ValueError(f"when_unavailable: {choice!r}")
    return ClassTerms(
        choice, bool(row["paused"]), {name: float(n) for name, n in row["floors"].items()}
    )
