"""How floors follow demand: which share each class of a tier has at this moment."""

from collections.abc import Sequence
from typing import Protocol

from budget.rule.split import Guard, Split
from budget.rule.terms import TIERS, LimitTerms, PoolTerms, kept_with_terms


class Demand(Protocol):
    """What a strategy may look at: the pool's state, without its balances."""

    at: int
    last_offered: list[int]


class Strategy(Protocol):
    """Splits one tier's floors between its classes. The inequality of the rule never changes."""

    def shares(self, terms: PoolTerms, members: Sequence[int], demand: Demand) -> Sequence[float]:
        """The share in force of each of a tier's classes, as fractions.

        `members` are the positions of the classes. Shares of all tiers together must stay
        at most 1.
        """


class Static:
    """Each reservation's own share, whatever the demand."""

    def shares(self, terms: PoolTerms, members: Sequence[int], demand: Demand) -> Sequence[float]:
        """The shares as reserved."""
        return [terms.classes[c].share for c in members]


STATIC = Static()
STRATEGIES: dict[str, Strategy] = {"static": STATIC}


def splits(terms: PoolTerms, demand: Demand) -> tuple[Split, ...]:
    """How each limit of the pool is split between classes at this moment."""
    if _is_static(terms):
        return reserved_splits(terms)
    shares = [0.0] * len(terms.classes)
    for tier, strategy in zip(TIERS, _strategies(terms), strict=True):
        members = [c for c, member in enumerate(terms.classes) if member.tier == tier]
        for c, share in zip(members, strategy.shares(terms, members, demand), strict=True):
            shares[c] = share
    return tuple(_split(terms, limit, shares) for limit in terms.limits)


@kept_with_terms
def reserved_splits(terms: PoolTerms) -> tuple[Split, ...]:
    """How each limit is split by the reservations alone."""
    shares = [member.share for member in terms.classes]
    return tuple(_split(terms, limit, shares) for limit in terms.limits)


@kept_with_terms
def _strategies(terms: PoolTerms) -> tuple[Strategy, ...]:
    return tuple(STRATEGIES[terms.strategies.get(tier, "static")] for tier in TIERS)


@kept_with_terms
def _is_static(terms: PoolTerms) -> bool:
    return all(strategy is STATIC for strategy in _strategies(terms))


def _split(terms: PoolTerms, limit: LimitTerms, shares: Sequence[float]) -> Split:
    in_force = tuple(
        0.0 if limit.name in member.except_limits else share
        for member, share in zip(terms.classes, shares, strict=True)
    )
    guards = tuple(
        tuple(
            Guard(j, terms.classes[j].slug, part)
            for j, part in enumerate(parts)
            if j != c and in_force[j]
        )
        for c, parts in enumerate(terms.protection)
    )
    return Split(limit, in_force, tuple(member.ceiling for member in terms.classes), guards)
