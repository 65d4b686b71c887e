"""What a decision says, with the arithmetic it rests on."""

from typing import Literal, NamedTuple, get_args

import msgspec

Reason = Literal[
    "paused",
    "untagged",
    "never_fits",
    "deadline_unmeetable",
    "provider_backoff",
    "queue_full",
    "yielding",
    "ceiling",
    "pool_exhausted",
    "floor_protected",
    "headroom",
]

REASONS: tuple[Reason, ...] = get_args(Reason)
"""The closed set, in the order in which they are tested."""

TOLERANCE = 1e-6
"""Units by which a cost may exceed what there is: levels are floats, costs are whole."""


class Standing(NamedTuple):
    """The numbers of one limit for one call, all in the limit's unit.

    A NamedTuple because one is made per limit and decision, and stored as a JSON array.
    """

    limit: str
    cost: int
    available: float
    own_floor: float
    """The caller's effective floor: a cost within it asks for nothing else."""
    protected: dict[str, float]
    """What the caller must leave alone, by the class it is kept for."""
    headroom: float
    free: float
    """`available` less everything protected; the caller may use `free - headroom`."""
    interactive_floors_spent: float
    """How much of the interactive floors on this limit is spent, as a fraction."""
    ceiling_left: float | None
    """What the caller's own ceiling still allows; None without a ceiling."""

    @property
    def within_floor(self) -> bool:
        """Whether the caller's own floor covers the whole cost."""
        return self.cost <= self.own_floor + TOLERANCE

    @property
    def shortfall(self) -> float:
        """By how much the cost exceeds what the caller may use; negative if it fits."""
        return self.cost - max(self.own_floor, self.free - self.headroom)


class Charge(msgspec.Struct, array_like=True):
    """What one limit was charged for one call, kept with the call for its settlement."""

    limit: str
    amount: int
    at: int
    """When, in microseconds since the epoch."""
    taken: float = 0.0
    """How much of it came out of the class's credit."""


class Drawn(msgspec.Struct):
    """Where an admitted call's cost on the leading limit came from."""

    floor: float = 0.0
    borrowed: float = 0.0
    lent: dict[str, float] = {}
    """By the class whose lendable floor gave it."""


class Decision(msgspec.Struct, kw_only=True):
    """Admitted or shed, and why."""

    admitted: bool
    workload_class: int | None
    reason: Reason | None = None
    limit: str | None = None
    would_be: Reason | None = None
    """In observe mode: why enforcement would have shed the call."""
    retryable: bool = False
    retry_after_ms: int | None = None
    standings: list[Standing] = []
    charges: list[Charge] = []
    drawn: Drawn | None = None
