"""The stretch of time a page shows, as its address says."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlencode

from django.utils.dateparse import parse_datetime

RANGES: Mapping[str, tuple[str, timedelta]] = {
    "live": ("live", timedelta(minutes=10)),
    "15m": ("15 minutes", timedelta(minutes=15)),
    "1h": ("1 hour", timedelta(hours=1)),
    "24h": ("24 hours", timedelta(hours=24)),
    "7d": ("7 days", timedelta(days=7)),
    "30d": ("30 days", timedelta(days=30)),
}
"""Ranges that end now, by the name they have in addresses: label and length."""
DEFAULT = "1h"
LONGEST = timedelta(days=92)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
STEPS = (
    (timedelta(hours=3), MINUTE),
    (timedelta(hours=12), 5 * MINUTE),
    (timedelta(hours=26), 10 * MINUTE),
    (timedelta(days=8), 60 * MINUTE),
    (timedelta(days=31), 360 * MINUTE),
    (LONGEST + DAY, DAY),
)
"""Up to which length, in whole steps, a chart has which step; each is a multiple of the one before.

So a time that was widened to its step keeps that step when it is asked for itself.
"""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = datetime(2000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


class BadAddress(ValueError):
    """What the address asks for can't be; the text names the parameter and the fix."""


class BadSpan(BadAddress):
    """What the address says is no stretch of time."""


class Span(NamedTuple):
    """From `start` to before `end`, both multiples of the step, counted from the epoch."""

    start: datetime
    end: datetime
    step: timedelta
    """How much time one point of a chart stands for."""
    name: str
    """The range's name in addresses; `custom` if both ends were given."""
    live: bool
    """Whether it ends now, and the page moves on by itself."""

    @property
    def label(self) -> str:
        """In words: `15 minutes`, or empty for a custom one."""
        return RANGES[self.name][0] if self.name in RANGES else ""

    @property
    def query(self) -> str:
        """What an address says to show the same: `range=1h`, or both ends."""
        if self.name in RANGES:
            return urlencode({"range": self.name})
        return urlencode({"from": _written(self.start), "to": _written(self.end)})

    @property
    def fixed_query(self) -> str:
        """What an address says to show this very time, also later."""
        return urlencode({"from": _written(self.start), "to": _written(self.end)})


def span_of(query: Mapping[str, str], now: datetime | None = None) -> Span:
    """The span that `range`, or `from` and `to`, name in an address. Raises BadSpan.

    `range` is one of RANGES and ends now; `from` and `to` are moments of RFC 3339, `to`
    is now unless given. The ends are widened to whole steps.
    """
    now = now or datetime.now(UTC)
    if "from" in query or "to" in query:
        end = _moment("to", query["to"]) if query.get("to") else now
        if not query.get("from"):
            raise BadSpan("from: say where the time begins, for example 2026-01-31T12:00:00Z.")
        start = _moment("from", query["from"])
        if not start < end:
            raise BadSpan("from: must lie before `to`.")
        return span_between(start, end)
    name = query.get("range") or DEFAULT
    if name not in RANGES:
        raise BadSpan(f"range: use one of {', '.join(RANGES)}, or `from` and `to`.")
    found = span_between(now - RANGES[name][1], now)
    return found._replace(name=name, live=True)


def span_between(start: datetime, end: datetime) -> Span:
    """The span that holds all between two moments, in whole steps. Raises BadSpan if too long."""
    for longest, step in STEPS:
        first, last = start - _past(start, step), end + (-_past(end, step)) % step
        if last - first <= longest:
            return Span(first, last, step, "custom", live=False)
    raise BadSpan(f"from: must lie at most {LONGEST.days} days before `to`.")


def _past(moment: datetime, step: timedelta) -> timedelta:
    """How far a moment lies within its step."""
    return (moment - EPOCH) % step


def _moment(name: str, text: str) -> datetime:
    try:
        moment = parse_datetime(text.replace(" ", "+"))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise BadSpan(f"{name}: write it as RFC 3339, for example 2026-01-31T12:00:00Z.")
    if not FIRST <= moment <= LAST:
        raise BadSpan(f"{name}: must lie between {FIRST.year} and {LAST.year}.")
    return moment.astimezone(UTC)


def _written(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
