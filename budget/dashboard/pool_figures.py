"""What the page of a pool shows over time, all classes together."""

from collections.abc import Mapping

from budget.dashboard.addresses import sheds_address
from budget.dashboard.figure import Figure, Guide, Series
from budget.dashboard.finding import expired_finding, shed_finding, use_finding
from budget.dashboard.lineup import Member, floor_moves
from budget.dashboard.past import Past
from budget.dashboard.queue_figures import queue_figures
from budget.dashboard.shed_series import shed_series
from budget.dashboard.steps import Steps
from budget.dashboard.units import in_a_step, offers_in_words, unit_in_words
from budget.dashboard.untagged_figure import untagged_figure
from budget.models import Pool
from budget.services import UsageHistory

Pasts = Mapping[Member, Past]
"""Strictest first."""


def pool_figures(pool: Pool, history: UsageHistory, steps: Steps, pasts: Pasts) -> list[Figure]:
    """In the order of the page; queues only where there is one, untagged and expired if any."""
    return [
        _use(pool, history, steps, pasts),
        _shed(pool, steps, pasts),
        *untagged_figure(steps, pasts),
        *_expired(steps, pasts),
        *queue_figures(steps, pasts),
    ]


def _use(pool: Pool, history: UsageHistory, steps: Steps, pasts: Pasts) -> Figure:
    unit = unit_in_words(history.unit)
    series = [
        Series(member.name, member.place, past.per_minute(past.charged))
        for member, past in pasts.items()
    ]
    amounts = {member.name: past.used for member, past in pasts.items()}
    allowed = sum(allowance or 0 for allowance in history.allowance)
    return Figure(
        name="use",
        title="Use against the limit" if allowed else "Use",
        kind="stack",
        unit=f"{unit} a minute",
        series=series,
        guides=_guides(pool, steps, pasts) if allowed else [],
        finding=use_finding(steps, series, amounts, allowed, unit),
    )


def _guides(pool: Pool, steps: Steps, pasts: Pasts) -> list[Guide]:
    floors = [floor_guide(pool, steps, member, f"floor of {member.name}") for member in pasts]
    limit = Guide("limit", None, [policy.allowance for policy in steps.policies])
    return [limit, *(floor for floor in floors if any(floor.values))]


def floor_guide(pool: Pool, steps: Steps, member: Member, name: str) -> Guide:
    """A class's share of the limit over time, which only a static floor always is."""
    nominal = member.row is not None and floor_moves(pool, member.row)
    return Guide(
        f"{name} (nominal)" if nominal else name,
        member.place,
        steps.floors_of(member.slug),
        nominal,
    )


def _shed(pool: Pool, steps: Steps, pasts: Pasts) -> Figure:
    shed = [shed_series(m, m.place, past.shed.column) for m, past in pasts.items()]
    would = [
        shed_series(m, m.place, past.would_shed.column, would_be=True)
        for m, past in pasts.items()
        if past.would_shed.total
    ]
    noun = offers_in_words(member.queued for member in pasts)
    return Figure(
        name="shed",
        title="Shed, and what would be" if would else "Shed",
        kind="bars",
        unit=f"{noun} {in_a_step(steps.step)}",
        series=shed + would,
        sheds=sheds_address(pool),
        finding=shed_finding(
            steps,
            shed,
            would,
            noun,
            sum(past.total("offered") for past in pasts.values()),
            {member.name: past.shed.counts for member, past in pasts.items()},
            {member.name: past.would_shed.counts for member, past in pasts.items()},
        ),
    )


def _expired(steps: Steps, pasts: Pasts) -> list[Figure]:
    series = [
        Series(member.name, member.place, past.counts("expired"))
        for member, past in pasts.items()
        if past.total("expired")
    ]
    if not series:
        return []
    totals = {m.name: past.total("expired") for m, past in pasts.items()}
    return [
        Figure(
            name="expired",
            title="Jobs expired",
            kind="bars",
            unit=f"jobs {in_a_step(steps.step)}",
            series=series,
            finding=expired_finding(steps, series, totals),
        )
    ]
