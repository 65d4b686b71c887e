"""The figures of the storm page, as they are shown."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from budget import services
from claims_demo.claims import ANSWER_SECONDS, POOL
from claims_demo.storm.endpoint import at_provider
from claims_demo.storm.service import ADJUSTERS, NIGHTLY, SERVICES, Service
from claims_demo.storm.span import Span
from claims_demo.storm.words import NOT_KNOWN, in_number, in_percent, in_seconds


class Figure(NamedTuple):
    """One figure, with the name of its place on the page."""

    name: str
    label: str
    text: str


class Card(NamedTuple):
    """One service's figures, and whether somebody has stopped it."""

    name: str
    halt: Figure
    figures: list[Figure]

    @property
    def told(self) -> list[Figure]:
        """All that changes on it."""
        return [self.halt, *self.figures]


def cards(minute: Span) -> list[Card]:
    """How each service fared in the last minute, and how it stands now."""
    try:
        pool = services.pool_view(POOL)
    except services.UnknownPool:  # an edit of the policy may take it away
        pool = {"paused": False, "classes": {}}
    return [
        Card(service.name, _halt(service, pool), _figures(service, minute, pool))
        for service in SERVICES
    ]


def _halt(service: Service, pool: Mapping[str, Any]) -> Figure:
    """Who presses Pause on the dashboard stops a class, or all of the pool."""
    now = pool["classes"].get(service.workload_class, {})
    words = {
        "pool paused": pool["paused"],
        "paused": now.get("paused"),
        "draining: no new jobs": now.get("draining"),
    }
    text = next((text for text, holds in words.items() if holds), "")
    return Figure(f"{service.workload_class}-halt", "stopped", text)


def _figures(service: Service, minute: Span, pool: Mapping[str, Any]) -> list[Figure]:
    if service is ADJUSTERS:
        return _adjusters(minute)
    return _queued(service, minute, pool["classes"].get(service.workload_class))


def _adjusters(minute: Span) -> list[Figure]:
    slug = ADJUSTERS.workload_class
    asked = minute.tally(slug)
    unanswered = asked.unanswered if asked.judged else None
    within = f"answered within {ANSWER_SECONDS:.0f} seconds"
    return [
        Figure(f"{slug}-in-time", within, in_percent(asked.in_time_percent)),
        Figure(f"{slug}-p95", "95 % wait at most", in_seconds(minute.wait_ms(0.95))),
        Figure(f"{slug}-shed", "told to try again", in_percent(asked.shed_percent)),
        Figure(f"{slug}-unanswered", "without an answer", in_number(unanswered)),
    ]


def _queued(service: Service, minute: Span, queue: Mapping[str, Any] | None) -> list[Figure]:
    slug = service.workload_class
    shed = in_percent(minute.tally(slug).shed_percent)
    wait = queue["oldest_wait_seconds"] if queue else None
    return [
        Figure(f"{slug}-shed", "refused", shed),
        Figure(f"{slug}-depth", "waiting", in_number(queue["depth"] if queue else None)),
        *_elsewhere(service),
        Figure(f"{slug}-wait", "oldest", NOT_KNOWN if wait is None else f"{wait:,.0f} s"),
        Figure(f"{slug}-held", "held back for", _held_back_for(queue)),
        Figure(f"{slug}-state", "queue", queue["state"] if queue else NOT_KNOWN),
    ]


def _held_back_for(queue: Mapping[str, Any] | None) -> str:
    return queue["waits_for"].replace("_", " ") if queue and queue["waits_for"] else NOT_KNOWN


def _elsewhere(service: Service) -> list[Figure]:
    """What is at the batch endpoint draws nothing on the pool."""
    if service is not NIGHTLY:
        return []
    slug = service.workload_class
    return [Figure(f"{slug}-batched", "at the provider, in batches", in_number(at_provider()))]
