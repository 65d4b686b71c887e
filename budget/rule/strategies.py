"""How floors follow demand: which share each class of a tier has at this moment."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from budget.rule.split import Guard, Split
from budget.rule.terms import TIERS, ClassTerms, LimitTerms, PoolTerms


class Strategy(Protocol):
    """Splits one tier's floors between its classes. The inequality of the rule never changes."""

    def shares(self, classes: Sequence[ClassTerms]) -> Sequence[float]:
        """The share in force of each class, as fractions, in the order given."""


class Static:
    """Each reservation's own share, whatever the demand."""

    def shares(self, classes: Sequence[ClassTerms]) -> Sequence[float]:
        """The shares as reserved."""
        return [terms.share for terms in classes]


STRATEGIES: dict[str, Strategy] = {"static": Static()}


@lru_cache(maxsize=64)
def splits(terms: PoolTerms) -> tuple[Split, ...]:
    """How each limit of the pool is split between classes."""
    shares: dict[str, float] = {}
    for tier in TIERS:
        members = [member for member in terms.classes if member.tier == tier]
        strategy = STRATEGIES[terms.strategies.get(tier, "static")]
        shares.update(zip([m.slug for m in members], strategy.shares(members), strict=True))
    return tuple(_split(terms, limit, shares) for limit in terms.limits)


def _split(terms: PoolTerms, limit: LimitTerms, shares: dict[str, float]) -> Split:
    in_force = tuple(
        0.0 if limit.name in member.except_limits else shares[member.slug]
        for member in terms.classes
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
