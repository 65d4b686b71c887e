"""What callers decided by themselves while the service was away."""

from typing import NamedTuple

from budget import services
from budget.dashboard.lineup import UNTAGGED
from budget.dashboard.policy_rows import PolicyRows
from budget.dashboard.span import Span
from budget.services import AwayCalls

CHOICES = {
    "admit": "admit: all calls went",
    "shed": "shed: no call went",
    "local": "local: each process kept a part of the floor",
}


class AwayRow(NamedTuple):
    """Calls of one class, decided on by one choice."""

    calls: AwayCalls

    @property
    def name(self) -> str:
        """The class."""
        return self.calls.workload_class or UNTAGGED

    @property
    def choice(self) -> str:
        """In words."""
        return CHOICES[self.calls.choice]


def away_rows(policy: PolicyRows, span: Span) -> list[AwayRow]:
    """Of the time that a page shows, as far as callers have reported it; strictest first."""
    places = {row.slug: place for place, row in enumerate(policy.classes)}
    found = services.away_calls(policy.pool.slug, span.start, span.end)
    found.sort(
        key=lambda calls: (
            places.get(calls.workload_class, len(places)),
            not calls.workload_class,
        )
    )
    return [AwayRow(calls) for calls in found]
