"""What is left of a pool's limits now."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from budget.dashboard.lineup import floor_moves
from budget.dashboard.units import UNITS, unit_in_words
from budget.models import Limit, Pool
from budget.pages.percents import percent
from budget.pages.scarcity import SCARCE


class Floor(NamedTuple):
    """What is left of a class's floor, in the limit's unit."""

    name: str
    left: float
    full: float
    nominal: bool
    """Whether it moves with demand, so that `full` is only the share that the policy states."""

    @property
    def text(self) -> str:
        """`40,000 of 50,000`."""
        nominal = " (nominal)" if self.nominal else ""
        return f"{self.left:,.0f} of {self.full:,.0f}{nominal}"


class Level(NamedTuple):
    """One limit."""

    name: str
    terms: str
    """In words: `400,000 tokens per 60 s`."""
    available: float
    capacity: float
    floors: list[Floor]

    @property
    def left(self) -> int:
        """For a meter: never below nothing."""
        return max(0, round(self.available))

    @property
    def scarce(self) -> int:
        """Below this a meter warns."""
        return round(self.capacity * SCARCE)

    @property
    def text(self) -> str:
        """`75,000 of 100,000 available`."""
        return f"{self.available:,.0f} of {self.capacity:,.0f} available"

    @property
    def used_percent(self) -> float:
        """How much of the capacity is taken; more than all of it while in debt."""
        return 100 * (1 - self.available / self.capacity) if self.capacity else 0.0

    @property
    def used(self) -> str:
        """The same in words."""
        return percent(max(0.0, self.used_percent))

    def as_json(self) -> list[Any]:
        """What changes while a page stands open."""
        return [self.left, self.text, [floor.text for floor in self.floors]]


def levels(pool: Pool, view: Mapping[str, Any], only: str | None = None) -> list[Level]:
    """Each limit by the ledger's view, with its floors, or that of `only` one class.

    Those of the batch endpoint come last, gauges after rates.
    """
    rows = {str(row): row for row in pool.limits.all()}
    limits = sorted(view["limits"], key=lambda limit: (limit["algorithm"] == "gauge", _rank(limit)))
    return [
        *[_level(limit, rows.get(_name(limit)), _floors(pool, limit, only)) for limit in limits],
        *[
            _level(limit, rows.get(f"batch {_name(limit)}"), [], "batch endpoint: ")
            for limit in view["batch_limits"]
        ],
    ]


def _level(
    limit: Mapping[str, Any], row: Limit | None, floors: list[Floor], prefix: str = ""
) -> Level:
    amount = f"{limit['amount']:,} {unit_in_words(limit['unit'])}"
    period = f"per {row.per_seconds} s" if row else ""
    return Level(
        f"{prefix}{_name(limit)}",
        f"{amount} at once" if limit["algorithm"] == "gauge" else f"{amount} {period}",
        limit["available"],
        limit["capacity"],
        floors,
    )


def _floors(pool: Pool, limit: Mapping[str, Any], only: str | None) -> list[Floor]:
    capacity = limit["capacity"]
    classes = [row.workload_class for row in pool.reservations.all()]
    moving = {row.slug for row in classes if floor_moves(pool, row)}
    return [
        Floor(slug, floor["effective"], floor["share_percent"] * capacity / 100, slug in moving)
        for slug, floor in limit["floors"].items()
        if floor["share_percent"] and only in (None, slug)
    ]


def _rank(limit: Mapping[str, Any]) -> int:
    """Tokens before requests."""
    return list(UNITS).index(limit["unit"])


def _name(limit: Mapping[str, Any]) -> str:
    return f"{limit['unit']}/{limit['algorithm']}"
