"""How many jobs waited, and for how long."""

from collections.abc import Mapping

from budget.dashboard.figure import Figure, Series, Value
from budget.dashboard.finding import depth_finding, wait_finding
from budget.dashboard.lineup import Member
from budget.dashboard.past import Past
from budget.dashboard.steps import Steps


def queue_figures(steps: Steps, pasts: Mapping[Member, Past]) -> list[Figure]:
    """Two figures of the classes that have or had a queue; none if there is no such class."""
    depths = _peaks(pasts, "queue_depth")
    waits = [
        wait._replace(values=_waits(depth.values, wait.values))
        for depth, wait in zip(depths, _peaks(pasts, "oldest_wait_seconds"), strict=True)
    ]
    if not depths:
        return []
    return [
        Figure("depth", "Jobs waiting", "lines", "jobs", depths, depth_finding(steps, depths)),
        Figure("wait", "Oldest wait", "lines", "seconds", waits, wait_finding(steps, waits)),
    ]


def _waits(depths: list[Value], waits: list[Value]) -> list[Value]:
    """Where no job waited, none waited long."""
    return [0 if depth == 0 else wait for depth, wait in zip(depths, waits, strict=True)]


def _peaks(pasts: Mapping[Member, Past], column: str) -> list[Series]:
    return [
        Series(member.name, member.place, past.peaks(column))
        for member, past in pasts.items()
        if member.queued or any(value is not None for value in past.peaks("queue_depth"))
    ]
