"""Where a provider's own limits disagree with the policy, by what its headers last told."""

from collections.abc import Iterable
from typing import NamedTuple

from budget.models import Limit, Pool, ProviderLimit
from budget.providers.standing import LONGEST_MINUTE

AGREEING = 0.01
"""By which part of the policy's amount the provider's may differ."""
MINUTE = 60


class Disagreement(NamedTuple):
    """A limit that the provider tells otherwise than the policy; amounts a minute."""

    said: ProviderLimit
    policy: float
    provider: float

    @property
    def unit(self) -> str:
        """In words."""
        return self.said.unit.replace("_", " ")

    @property
    def text(self) -> str:
        """`The provider allows 200,000 total tokens a minute, and the policy 400,000.`"""
        return (
            f"The provider allows {self.provider:,.0f} {self.unit} a minute, and the policy "
            f"{self.policy:,.0f}."
        )

    @property
    def advice(self) -> str:
        """What it leads to."""
        if self.provider < self.policy:
            return "It will refuse calls that are admitted here."
        return "What it allows beyond that is not used."


def disagreements(pool: Pool, told: Iterable[ProviderLimit]) -> list[Disagreement]:
    """Those of a pool, both amounts normalised to a minute, by what was `told` of it."""
    found = (_disagreement(pool.limits.all(), said) for said in told)
    return [disagreement for disagreement in found if disagreement]


def _disagreement(limits: Iterable[Limit], said: ProviderLimit) -> Disagreement | None:
    """Of several limits that count the same, the lowest is the one that binds."""
    amounts = [
        limit.amount * MINUTE / limit.per_seconds for limit in limits if _comparable(limit, said)
    ]
    if not amounts or said.amount is None:
        return None
    policy, provider = min(amounts), said.amount * MINUTE / said.per_seconds
    if abs(provider - policy) <= AGREEING * policy:
        return None
    return Disagreement(said, policy, provider)


def _comparable(limit: Limit, said: ProviderLimit) -> bool:
    if limit.unit != said.unit or limit.algorithm == "gauge" or limit.of_batch:
        return False
    return (limit.per_seconds <= LONGEST_MINUTE) == (said.per_seconds <= LONGEST_MINUTE)
