"""What the storm page shows, and what it asks for each second."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from claims_demo.models.storm import StormControl, StormSecond
from claims_demo.storm.cards import cards
from claims_demo.storm.finding import finding
from claims_demo.storm.service import ADJUSTERS, OTHERS
from claims_demo.storm.span import Span

SHOWN = timedelta(minutes=5)
MINUTE = timedelta(minutes=1)
SMOOTHED = timedelta(seconds=10)
"""What a point of the charts sums up: of a single second there is too little to tell."""
MOST_POINTS = 60
"""In one answer, which so stays small; whoever is further behind asks again at once."""
SILENT = timedelta(seconds=5)
"""After which a storm is taken to be over."""
NO_STORM = "No storm is running."


def live(after: datetime) -> dict[str, Any]:
    """The points later than a moment, at most of the last five minutes, and how things stand."""
    now = timezone.now()
    points = _points(max(now - SHOWN, after))
    stands = standing(now)
    figures = [figure for card in stands.pop("cards") for figure in card.told]
    return stands | {
        "figures": {figure.name: figure.text for figure in figures},
        "points": points,
        "more": len(points) == MOST_POINTS,
    }


def standing(now: datetime) -> dict[str, Any]:
    """How things stand: in words, in figures, and how strong the storm is to be."""
    seconds = list(StormSecond.objects.filter(at__gt=now - MINUTE).order_by("at"))
    running = bool(seconds) and seconds[-1].at > now - SILENT
    minute = Span(seconds if running else [])
    control = StormControl.objects.first()
    return {
        "at": int(now.timestamp()),
        "running": running,
        "words": finding(minute) if running else NO_STORM,
        "cards": cards(minute),
        "chosen": control.strength if control else None,
        "control": _control(control, minute.strength),
    }


def _control(control: StormControl | None, strength: int) -> str:
    """Who decides how strong the storm is, and what it is now."""
    if control and control.strength:
        return f"×{control.strength}, chosen by {control.chosen_by}."
    return f"Automatic: calm and storm take turns, now ×{strength}."


def _points(start: datetime) -> list[list[float | None]]:
    """By second: when, the strength, quantiles of the wait in ms, losses per second."""
    seconds = list(
        StormSecond.objects.filter(at__gt=start - SMOOTHED).order_by("at")[
            : MOST_POINTS + SMOOTHED.seconds
        ]
    )
    new = [number for number, second in enumerate(seconds) if second.at > start]
    return [_point(seconds[: number + 1]) for number in new[:MOST_POINTS]]


def _point(seconds: Sequence[StormSecond]) -> list[float | None]:
    last = seconds[-1]
    recent = Span([each for each in seconds[-10:] if each.at > last.at - SMOOTHED])
    rates = [recent.per_second(lost) for lost in _lost(recent)]
    return [
        int(last.at.timestamp()),
        last.strength,
        recent.wait_ms(0.5),
        recent.wait_ms(0.95),
        *(None if rate is None else round(rate, 1) for rate in rates),
    ]


def _lost(span: Span) -> list[int]:
    """By service: questions not answered in time, other work refused or expired."""
    return [
        span.tally(ADJUSTERS.workload_class).unserved,
        *(span.tally(service.workload_class).turned_away for service in OTHERS),
    ]
