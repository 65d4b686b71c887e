"""A process's own part of a class's floor, drawn on while the service is away."""

import threading
import time
from collections.abc import Callable, Mapping

from budget.client.terms import LimitTerms, Terms

GAUGE = "gauge"


class LocalFloor:
    """One class's floor on every limit of a pool, divided by the number of processes.

    A bucket or window becomes a token bucket of the floor's size that refills at the floor's
    part of the rate; a gauge counts what is under way. A full bucket admits also a call that
    is larger than it, and owes the rest. A limit on which the class has no floor, while it has
    one on others, isn't looked at.
    """

    def __init__(
        self, terms: Terms, workload_class: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._at = clock()
        self._limits: tuple[LimitTerms, ...] = ()
        self._full: dict[str, float] = {}
        self._levels: dict[str, float] = {}
        self._rates: dict[str, float] = {}
        self.resize(terms, workload_class)

    def resize(self, terms: Terms, workload_class: str) -> None:
        """Follow a change of the policy, or of the number of processes; spent stays spent."""
        floors = terms.classes[workload_class].floors
        limits = tuple(limit for limit in terms.limits if floors.get(limit.name)) or terms.limits
        full = {limit.name: floors.get(limit.name, 0.0) / terms.processes for limit in limits}
        with self._guard:
            self._advance()
            self._levels = {
                name: amount - (self._full[name] - self._levels[name])
                if name in self._full
                else amount
                for name, amount in full.items()
            }
            self._limits, self._full = limits, full
            self._rates = {limit.name: _rate(limit, full[limit.name]) for limit in limits}

    def wait_for(self, costs: Mapping[str, int]) -> float | None:
        """Draws a call of so much by unit and gives None, or says in how many seconds it fits."""
        with self._guard:
            self._advance()
            waits = [self._wait(limit, costs.get(limit.unit, 0)) for limit in self._limits]
            longest = max(waits, default=0.0)
            if longest > 0:
                return longest
            for limit in self._limits:
                self._levels[limit.name] -= costs.get(limit.unit, 0)
            return None

    def release(self, costs: Mapping[str, int]) -> None:
        """A call that was drawn has ended: it isn't under way any longer."""
        with self._guard:
            for limit in self._limits:
                if limit.algorithm == GAUGE:
                    level = self._levels[limit.name] + costs.get(limit.unit, 0)
                    self._levels[limit.name] = min(level, self._full[limit.name])

    def _advance(self) -> None:
        now = self._clock()
        for name, rate in self._rates.items():
            level = self._levels[name] + rate * (now - self._at)
            self._levels[name] = min(level, self._full[name])
        self._at = now

    def _wait(self, limit: LimitTerms, cost: int) -> float:
        missing = min(cost, self._full[limit.name]) - self._levels[limit.name]
        if cost == 0 or (missing <= 0 and self._full[limit.name] > 0):
            return 0.0
        rate = self._rates[limit.name]
        return missing / rate if rate > 0 else float("inf")


def _rate(limit: LimitTerms, full: float) -> float:
    """Units a second. A gauge gets nothing back but what ends."""
    if limit.algorithm == GAUGE or limit.capacity <= 0:
        return 0.0
    return limit.amount / limit.per_seconds * full / limit.capacity
