"""What the page of a pool shows over time, all classes together."""

from collections.abc import Mapping
from urllib.parse import urlencode

from budget.dashboard.addresses import sheds_address
from budget.dashboard.figure import Figure, Guide, Series, number
from budget.dashboard.finding import shed_finding, use_finding
from budget.dashboard.lineup import Member
from budget.dashboard.past import Past
from budget.dashboard.queue_figures import queue_figures
from budget.dashboard.steps import Steps
from budget.dashboard.units import in_a_step, unit_in_words
from budget.models import Pool
from budget.services import UsageHistory

Pasts = Mapping[Member, Past]
"""Strictest first."""


def pool_figures(pool: Pool, history: UsageHistory, steps: Steps, pasts: Pasts) -> list[Figure]:
    """In the order of the page; queues only where there is one."""
    return [_use(history, steps, pasts), _shed(pool, steps, pasts), *queue_figures(steps, pasts)]


def _use(history: UsageHistory, steps: Steps, pasts: Pasts) -> Figure:
    unit = unit_in_words(history.unit)
    series = [
        Series(member.name, member.place, past.per_minute("charged"))
        for member, past in pasts.items()
    ]
    amounts = {member.name: past.total("charged") for member, past in pasts.items()}
    allowed = sum(allowance or 0 for allowance in history.allowance)
    return Figure(
        name="use",
        title="Use against the limit" if allowed else "Use",
        kind="stack",
        unit=f"{unit} a minute",
        series=series,
        guides=_guides(steps, pasts) if allowed else [],
        finding=use_finding(steps, series, amounts, allowed, unit),
    )


def _guides(steps: Steps, pasts: Pasts) -> list[Guide]:
    floors = [
        Guide(
            f"floor of {member.name}",
            member.place,
            [number(policy.per_minute.get(member.slug, 0.0)) for policy in steps.policies],
        )
        for member in pasts
    ]
    limit = Guide("limit", None, [policy.allowance for policy in steps.policies])
    return [limit, *(floor for floor in floors if any(floor.values))]


def _shed(pool: Pool, steps: Steps, pasts: Pasts) -> Figure:
    series = [
        Series(
            member.name, member.place, past.shed(), query=urlencode({"class": member.in_address})
        )
        for member, past in pasts.items()
    ]
    return Figure(
        name="shed",
        title="Shed",
        kind="bars",
        unit=f"calls {in_a_step(steps.step)}",
        series=series,
        sheds=sheds_address(pool),
        finding=shed_finding(
            steps,
            series,
            sum(past.total("offered") for past in pasts.values()),
            {member.name: past.reasons for member, past in pasts.items()},
            sum(past.would_shed for past in pasts.values()),
        ),
    )
