"""The figures of the storm page, as they are shown."""

from typing import NamedTuple

from budget import services
from budget.services import QueueView
from claims_demo.claims import ANSWER_SECONDS, POOL
from claims_demo.storm.endpoint import at_provider
from claims_demo.storm.service import ADJUSTERS, NIGHTLY, OTHERS, Service
from claims_demo.storm.span import Span
from claims_demo.storm.words import NOT_KNOWN, in_number, in_percent, in_seconds


class Figure(NamedTuple):
    """One figure, with the name of its place on the page."""

    name: str
    label: str
    text: str


class Card(NamedTuple):
    """One service's figures."""

    name: str
    figures: list[Figure]


def cards(minute: Span) -> list[Card]:
    """How each service fared in the last minute, and how its queue stands now."""
    try:
        queues = services.queues(POOL)
    except services.UnknownPool:  # an edit of the policy may take it away
        queues = {}
    return [
        _adjusters(minute),
        *(_queued(service, minute, queues.get(service.workload_class)) for service in OTHERS),
    ]


def _adjusters(minute: Span) -> Card:
    slug = ADJUSTERS.workload_class
    asked = minute.tally(slug)
    unanswered = asked.unanswered if asked.judged else None
    within = f"answered within {ANSWER_SECONDS:.0f} seconds"
    return Card(
        ADJUSTERS.name,
        [
            Figure(f"{slug}-in-time", within, in_percent(asked.in_time_percent)),
            Figure(f"{slug}-p95", "95 % wait at most", in_seconds(minute.wait_ms(0.95))),
            Figure(f"{slug}-shed", "told to try again", in_percent(asked.shed_percent)),
            Figure(f"{slug}-unanswered", "without an answer", in_number(unanswered)),
        ],
    )


def _queued(service: Service, minute: Span, queue: QueueView | None) -> Card:
    slug = service.workload_class
    shed = in_percent(minute.tally(slug).shed_percent)
    wait = queue.oldest_wait_seconds if queue else None
    return Card(
        service.name,
        [
            Figure(f"{slug}-shed", "refused", shed),
            Figure(f"{slug}-depth", "waiting", in_number(queue.depth if queue else None)),
            *_elsewhere(service),
            Figure(f"{slug}-wait", "oldest", NOT_KNOWN if wait is None else f"{wait:,.0f} s"),
            Figure(f"{slug}-held", "held back for", _held_back_for(queue)),
            Figure(f"{slug}-state", "state", queue.state if queue else NOT_KNOWN),
        ],
    )


def _held_back_for(queue: QueueView | None) -> str:
    return queue.waits_for.replace("_", " ") if queue and queue.waits_for else NOT_KNOWN


def _elsewhere(service: Service) -> list[Figure]:
    """What is at the batch endpoint draws nothing on the pool."""
    if service is not NIGHTLY:
        return []
    slug = service.workload_class
    return [Figure(f"{slug}-batched", "at the provider, in batches", in_number(at_provider()))]
