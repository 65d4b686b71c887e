"""How floors follow demand: which share each class of a tier has at this moment."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from budget.rule.split import Split
from budget.rule.terms import TIERS, ClassTerms, PoolTerms


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
    ceilings = tuple(member.ceiling for member in terms.classes)
    return tuple(
        Split(
            limit,
            tuple(
                0.0 if limit.name in member.except_limits else shares[member.slug]
                for member in terms.classes
            ),
            ceilings,
        )
        for limit in terms.limits
    )
