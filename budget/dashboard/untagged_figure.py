"""How many untagged calls came over time, and what took them in."""

from collections.abc import Mapping

from budget.dashboard.figure import Figure, Series
from budget.dashboard.finding import untagged_finding
from budget.dashboard.lineup import Member
from budget.dashboard.past import Past
from budget.dashboard.steps import Steps
from budget.dashboard.units import in_a_step


def untagged_figure(steps: Steps, pasts: Mapping[Member, Past]) -> list[Figure]:
    """One series for each class that took some in, one for those that none did; empty if none came.

    Each is drawn as its class, that of shed ones as the untagged calls are everywhere.
    """
    took = {member: past for member, past in pasts.items() if past.total("untagged")}
    if not took:
        return []
    series = [
        Series(
            f"into {member.slug}" if member.slug else "shed", member.place, past.counts("untagged")
        )
        for member, past in took.items()
    ]
    calls = {member.slug: past.total("untagged") for member, past in took.items()}
    offered = sum(past.total("offered") for past in pasts.values())
    return [
        Figure(
            name="untagged",
            title="Untagged calls",
            kind="bars",
            unit=f"calls {in_a_step(steps.step)}",
            series=series,
            finding=untagged_finding(steps, series, calls, offered),
        )
    ]
