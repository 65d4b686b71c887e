"""What a storm has shown, in words and as a yes or no."""

from typing import NamedTuple

from claims_demo.scoreboard import shed_in_words
from claims_demo.storm.report import Report, Tally
from claims_demo.storm.service import SERVICES, Service

SERVED_PERCENT = 95
"""How many of the strictest class's calls must be answered in time."""
CAPACITY_REASONS = {"yielding", "ceiling", "pool_exhausted", "floor_protected", "headroom"}


class Verdict(NamedTuple):
    """The story of the storm, and what of the promise was not kept."""

    told: list[str]
    broken: list[str]


def verdict(report: Report) -> Verdict:
    """Judges the last report: the strictest served, the loosest shed for lack of capacity."""
    first, *_, last = SERVICES
    tallies = report.tallies
    told = [_told(service, tallies[service.workload_class]) for service in SERVICES]
    broken = [
        *([] if report.storms else ["The storm had not begun."]),
        *_unserved(first, tallies[first.workload_class]),
        *_unshed(last, tallies[last.workload_class]),
    ]
    return Verdict(told, broken)


def _told(service: Service, tally: Tally) -> str:
    return (
        f"{service.name}: {tally.in_time:,} of {tally.finished:,} finished calls were answered "
        f"within {service.deadline_seconds:,.0f} s. Asked {tally.offered:,} times, the budget "
        f"admitted {tally.admitted:,} and shed {shed_in_words(tally)}."
    )


def _unserved(service: Service, tally: Tally) -> list[str]:
    faults = [f"{service.name}: {count} × {fault}" for fault, count in tally.faults.items()]
    if not tally.finished:
        return [*faults, f"No call of the {service.name} came to an end."]
    if tally.in_time * 100 < SERVED_PERCENT * tally.finished:
        return [
            *faults,
            f"Only {tally.in_time} of {tally.finished} calls of the {service.name} were answered "
            f"in time: {tally.late} came late, {tally.gave_up} gave up, {tally.failed} failed.",
        ]
    return []


def _unshed(service: Service, tally: Tally) -> list[str]:
    if not any(tally.shed.get(reason) for reason in CAPACITY_REASONS):
        return [f"{service.name} was not shed, so the storm did not exhaust the pool."]
    return []
