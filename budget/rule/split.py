"""How a limit is split between classes at one moment."""

from functools import cached_property
from typing import NamedTuple

import msgspec

from budget.rule.terms import LimitTerms


class Guard(NamedTuple):
    """One class's floor, as another class meets it."""

    owner: int
    """Position of the class whose floor it is."""
    slug: str
    part: float
    """Which part of the floor is not lent, as a fraction."""


class Split(msgspec.Struct, frozen=True, dict=True):
    """A limit with the floors and ceilings in force on it, as fractions, one per class."""

    terms: LimitTerms
    shares: tuple[float, ...]
    ceilings: tuple[float, ...]
    guards: tuple[tuple["Guard", ...], ...]
    """`guards[c]`: what class c must leave alone, of the classes with a floor here."""

    @cached_property
    def capacity(self) -> float:
        """What the limit can hold, in its unit."""
        return self.terms.capacity

    @cached_property
    def rate(self) -> float:
        """Units regained per microsecond."""
        return self.terms.rate

    @cached_property
    def period(self) -> int:
        """The span over which the amount is allowed, in microseconds."""
        return self.terms.period

    @cached_property
    def floors(self) -> tuple[float, ...]:
        """Each class's full floor, in the limit's unit."""
        return tuple(share * self.capacity for share in self.shares)

    @cached_property
    def reserved(self) -> bool:
        """Whether any class has a floor here."""
        return any(self.shares)

    @cached_property
    def unreserved(self) -> float:
        """What no floor covers when all are full, in the limit's unit."""
        return max(0.0, 1 - sum(self.shares)) * self.capacity

    def limited(self, c: int | None) -> bool:
        """Whether the class has a ceiling below the whole."""
        return c is not None and self.ceilings[c] < 1

    def ceiling(self, c: int) -> float:
        """The most the class may take, in the limit's unit."""
        return self.ceilings[c] * self.capacity
