"""What a storm has shown, in words and as a yes or no."""

from typing import NamedTuple

from claims_demo.claims import ANSWER_SECONDS
from claims_demo.scoreboard import shed_in_words
from claims_demo.storm.report import Report
from claims_demo.storm.service import ADJUSTERS, OTHERS, Service
from claims_demo.storm.tally import Tally
from claims_demo.storm.weather import CALM
from claims_demo.storm.words import in_percent, in_seconds

SERVED_PERCENT = 95
"""How many of the adjusters' questions must be answered in time."""
SCARCITY = {"yielding", "pool_exhausted", "floor_protected", "headroom"}
"""Reasons for which there was not enough of the pool."""
EXHAUSTED_PERCENT = 25
"""A pool is exhausted when less is left of what nobody is promised."""


class Verdict(NamedTuple):
    """The story of the storm, and what of the promise was not kept."""

    told: list[str]
    broken: list[str]


def verdict(report: Report) -> Verdict:
    """Judges the last report: the person waiting served, at the expense of what can wait."""
    asked = report.tallies[ADJUSTERS.workload_class]
    told = [
        _told_of_adjusters(asked, report.p95_ms),
        *(_told_of_queue(service, report) for service in OTHERS),
        f"The pool: of what nobody is promised {in_percent(report.least_free_percent)} was left "
        "at the worst.",
    ]
    broken = [
        *([] if report.strongest > CALM else ["The storm had not begun."]),
        *_unserved(asked),
        *_plenty(report),
    ]
    return Verdict(told, broken)


def _told_of_adjusters(tally: Tally, p95_ms: int | None) -> str:
    return (
        f"{ADJUSTERS.name}: {tally.in_time:,} of {tally.judged:,} questions were answered within "
        f"{ANSWER_SECONDS:.0f} s, 95 % waited at most {in_seconds(p95_ms)}. "
        f"The budget admitted {tally.admitted:,} and shed {shed_in_words(tally)}."
    )


def _told_of_queue(service: Service, report: Report) -> str:
    tally, waiting = report.tallies[service.workload_class], report.waiting[service.workload_class]
    batched = f" and {tally.batched:,} sent in batches" if tally.batched else ""
    return (
        f"{service.name}: {tally.enqueued:,} of {tally.asked:,} jobs were let into the queue, "
        f"{tally.admitted:,} were begun{batched}, {tally.expired:,} expired, {waiting:,} wait. "
        f"The budget shed {shed_in_words(tally)}{_held_in_words(tally)}."
    )


def _held_in_words(tally: Tally) -> str:
    seconds = sum(tally.held.values())
    return f" and held the queue back for {seconds} s ({', '.join(tally.held)})" if seconds else ""


def _unserved(tally: Tally) -> list[str]:
    faults = [f"{ADJUSTERS.name}: {count} × {fault}" for fault, count in tally.faults.items()]
    if not tally.judged:
        return [*faults, f"No question to the {ADJUSTERS.name} came to an end."]
    if tally.in_time * 100 < SERVED_PERCENT * tally.judged:
        return [
            *faults,
            f"Only {tally.in_time} of {tally.judged} questions were answered in time: "
            f"{tally.late} came late or never, of which {tally.gave_up} were given up and "
            f"{tally.failed} failed; {tally.unasked} could not be asked, since everybody waited.",
        ]
    return []


def _plenty(report: Report) -> list[str]:
    """Where nobody goes short of the pool, nothing is shown: queues are full for other reasons."""
    tallies = [report.tallies[service.workload_class] for service in OTHERS]
    went_short = any(SCARCITY & (tally.shed.keys() | tally.held.keys()) for tally in tallies)
    free = report.least_free_percent
    names = " nor ".join(service.name for service in OTHERS)
    return [
        *([] if went_short else [f"Neither {names} had to go short of the pool."]),
        *([] if free is not None and free < EXHAUSTED_PERCENT else [_never_exhausted(free)]),
    ]


def _never_exhausted(free: float | None) -> str:
    return (
        "The storm did not exhaust the pool: of what nobody is promised "
        f"{in_percent(free)} was left at least."
    )
