"""What the policy owner wrote, as the rule reads it: frozen, unit-bearing, Django-free.

Amounts are whole tokens or requests, moments and spans are whole microseconds,
shares are fractions of 1. Index `d` always means a position in `PoolTerms.limits`,
index `c` or `j` a position in `PoolTerms.classes`, which stand strictest first.
"""

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Literal, TypeVar, get_args

import msgspec

T = TypeVar("T")

Tier = Literal["interactive", "near_line", "bulk"]
Unit = Literal["requests", "input_tokens", "output_tokens", "total_tokens"]
Algorithm = Literal["token_bucket", "sliding_window", "gauge"]

TIERS: tuple[Tier, ...] = get_args(Tier)
UNITS: tuple[Unit, ...] = get_args(Unit)
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)

SECOND = 1_000_000
"""Microseconds in a second."""


class LimitTerms(msgspec.Struct, frozen=True, kw_only=True):
    """One ceiling of a pool."""

    unit: Unit
    algorithm: Algorithm
    amount: int
    per_seconds: int = 60
    burst_percent: float = 25.0

    @property
    def name(self) -> str:
        """How refusals and state refer to this limit: `unit/algorithm`."""
        return f"{self.unit}/{self.algorithm}"

    @property
    def capacity(self) -> float:
        """What the limit can hold at once: burst % of the amount for a bucket, else the amount."""
        if self.algorithm == "token_bucket":
            return self.amount * self.burst_percent / 100
        return float(self.amount)

    @property
    def period(self) -> int:
        """The span over which `amount` is allowed, in microseconds."""
        return self.per_seconds * SECOND

    @property
    def rate(self) -> float:
        """Units regained per microsecond."""
        return self.amount / self.period


class ClassTerms(msgspec.Struct, frozen=True, kw_only=True):
    """A workload class together with its reservation on this pool."""

    slug: str
    tier: Tier
    deadline: int
    """Longest time from offer to answer, in microseconds."""
    paused: bool = False
    reserved: bool = True
    """Whether the owner gave it a reservation here; else its terms are implied."""
    share: float = 0.0
    lendable: float = 0.0
    headroom: float = 0.0
    ceiling: float = 1.0
    weight: float = 1.0
    yields_above: float | None = None
    except_limits: tuple[str, ...] = ()
    """Names of limits on which the floor is switched off."""
    max_call_time: int = 120 * SECOND
    """How long a lease lasts before it counts as abandoned, in microseconds."""
    max_call_tokens: int = 16_000
    draining: bool = False
    """Whether the queue takes no new jobs while it works off those it has."""
    queue_limit: int | None = None
    """Jobs that may wait; None for no bound."""
    queue_tokens: int | None = None
    """Tokens that may wait; None for no bound."""
    max_attempts: int = 3


class BatchTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The provider's batch endpoint, whose allowance is apart from the pool's own limits."""

    limits: tuple[LimitTerms, ...] = ()
    max_requests: int = 50_000
    max_bytes: int = 100_000_000
    collect_seconds: int = 300
    window: int = 24 * 3600 * SECOND
    """How long the provider may take for a batch, in microseconds."""


class PoolTerms(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The whole policy of one pool at one version."""

    slug: str
    version: int
    limits: tuple[LimitTerms, ...]
    classes: tuple[ClassTerms, ...]
    """Every workload class that may call the pool, strictest first (`strictness`)."""
    provider: str = ""
    mode: Literal["enforce", "observe"] = "enforce"
    paused: bool = False
    untagged: str | None = None
    """The class that untagged calls fall into; None sheds them."""
    strategies: dict[Tier, str] = {}
    batch: BatchTerms | None = None
    """None without a batch endpoint."""

    @cached_property
    def at_endpoint(self) -> "PoolTerms":
        """The batch endpoint as a pool of its own: its limits, and no floors on them."""
        assert self.batch is not None, "asked only of a pool with a batch endpoint"
        return PoolTerms(
            slug=self.slug,
            version=self.version,
            limits=self.batch.limits,
            provider=self.provider,
            mode=self.mode,
            paused=self.paused,
            classes=tuple(
                msgspec.structs.replace(
                    member,
                    share=0.0,
                    lendable=1.0,
                    headroom=0.0,
                    ceiling=1.0,
                    yields_above=None,
                    except_limits=(),
                )
                for member in self.classes
            ),
        )

    @cached_property
    def class_index(self) -> dict[str, int]:
        """Position of each class by slug."""
        return {terms.slug: c for c, terms in enumerate(self.classes)}

    def is_paused(self, slug: str) -> bool:
        """Whether somebody paused the whole pool, or that class of it."""
        c = self.class_index.get(slug)
        return self.paused or (c is not None and self.classes[c].paused)

    @cached_property
    def limit_index(self) -> dict[str, int]:
        """Position of each limit by name."""
        return {terms.name: d for d, terms in enumerate(self.limits)}

    @cached_property
    def leading(self) -> int | None:
        """The limit that usage is measured on: tokens before requests, rates before gauges."""
        units = ("total_tokens", "output_tokens", "input_tokens", "requests")
        order = sorted(
            range(len(self.limits)),
            key=lambda d: (
                self.limits[d].algorithm == "gauge",
                units.index(self.limits[d].unit),
                ALGORITHMS.index(self.limits[d].algorithm),
            ),
        )
        return order[0] if order else None

    @cached_property
    def tiers(self) -> tuple[tuple[int, ...], ...]:
        """Class positions grouped by tier, strictest tier first, empty tiers left out."""
        groups = (
            tuple(c for c, terms in enumerate(self.classes) if terms.tier == tier) for tier in TIERS
        )
        return tuple(group for group in groups if group)

    @cached_property
    def interactive(self) -> tuple[int, ...]:
        """Positions of the interactive classes."""
        return tuple(c for c, terms in enumerate(self.classes) if terms.tier == "interactive")

    @cached_property
    def protection(self) -> tuple[tuple[float, ...], ...]:
        """`protection[c][j]`: which part of j's effective floor class c must leave alone."""
        return tuple(
            tuple(_protected_part(caller, owner) for owner in self.classes)
            for caller in self.classes
        )


def kept_with_terms(derive: Callable[[PoolTerms], T]) -> Callable[[PoolTerms], T]:
    """Work out what follows from a policy once, and keep it as long as the policy."""
    name = derive.__qualname__

    @wraps(derive)
    def kept(terms: PoolTerms) -> T:
        if name not in terms.__dict__:
            terms.__dict__[name] = derive(terms)
        derived: T = terms.__dict__[name]
        return derived

    return kept


def strictness(terms: ClassTerms) -> tuple[int, int, str]:
    """Sort key that puts stricter classes first: by tier, then deadline, then slug."""
    return TIERS.index(terms.tier), terms.deadline, terms.slug


def _protected_part(caller: ClassTerms, owner: ClassTerms) -> float:
    if caller.slug == owner.slug:
        return 0.0
    looser_owner = TIERS.index(owner.tier) > TIERS.index(caller.tier)
    return 1.0 - owner.lendable if looser_owner else 1.0
