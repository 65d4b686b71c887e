"""What is left of a pool's limits now."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from budget.dashboard.lineup import floor_moves
from budget.dashboard.units import UNITS, unit_in_words
from budget.models import Pool
from budget.pages.limits import Periods, limit_in_words, period_in_words, periods_of
from budget.pages.percents import percent

FREE = "free"


class Floor(NamedTuple):
    """A class's effective floor and all of its floor, in the limit's unit."""

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
    """In words: `400,000 tokens per minute`."""
    available: float
    capacity: float
    floors: list[Floor]
    free: float | None = None
    """What is available beyond all effective floors; None where a limit knows no floors."""
    lowered_at: datetime | None = None
    """When it came down to what the provider had left, while that explains the level."""

    @property
    def text(self) -> str:
        """`25 % in use, 75,000 of 100,000 available`."""
        return f"{self.used} in use, {self.available:,.0f} of {self.capacity:,.0f} available"

    @property
    def parts(self) -> list[tuple[str, str]]:
        """What the available consists of, by name: effective floors, and what is free."""
        told = [(f"effective floor of {floor.name}", floor.text) for floor in self.floors]
        return told if self.free is None else [*told, (FREE, f"{self.free:,.0f}")]

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
        return [round(self.used_percent), self.text, [text for _, text in self.parts]]


def levels(pool: Pool, view: Mapping[str, Any], only: str | None = None) -> list[Level]:
    """Each limit by the ledger's view, with its floors, or that of `only` one class.

    Those of the batch endpoint come last, gauges after rates.
    """
    own, batch = _periods(pool, of_batch=False), _periods(pool, of_batch=True)
    limits = sorted(view["limits"], key=lambda limit: (limit["algorithm"] == "gauge", _rank(limit)))
    return [
        *[_level(limit, own, _floors(pool, limit, only), free=_free(limit)) for limit in limits],
        *[_level(limit, batch, [], of_batch=True) for limit in view["batch_limits"]],
    ]


def still_lowered(
    pool: Pool, view: Mapping[str, Any], lowered: Mapping[str, datetime], now: datetime
) -> Iterator[tuple[str, datetime]]:
    """Names of the limits that can't have refilled since their unit was `lowered`, and when."""
    periods = _periods(pool, of_batch=False)
    for limit in view["limits"]:
        name, at = f"{limit['unit']}/{limit['algorithm']}", lowered.get(limit["unit"])
        if at is None or name not in periods or limit["algorithm"] == "gauge":
            continue
        refill = timedelta(seconds=periods[name] * limit["capacity"] / limit["amount"])
        if now < at + refill:
            yield limit_in_words(name, periods), at


def _periods(pool: Pool, of_batch: bool) -> Periods:
    return periods_of(row for row in pool.limits.all() if row.of_batch is of_batch)


def _level(
    limit: Mapping[str, Any],
    periods: Periods,
    floors: list[Floor],
    of_batch: bool = False,
    free: float | None = None,
) -> Level:
    name = f"{limit['unit']}/{limit['algorithm']}"
    amount = f"{limit['amount']:,} {unit_in_words(limit['unit'])}"
    every = f" per {period_in_words(periods[name])}" if name in periods else ""
    return Level(
        limit_in_words(name, periods, of_batch),
        f"{amount} at once" if limit["algorithm"] == "gauge" else f"{amount}{every}",
        limit["available"],
        limit["capacity"],
        floors,
        free,
    )


def _free(limit: Mapping[str, Any]) -> float:
    """What no class's floor holds; effective floors never promise more than there is."""
    return max(
        0.0, limit["available"] - sum(floor["effective"] for floor in limit["floors"].values())
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
