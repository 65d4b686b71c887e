"""Values in the headers of a provider's answer. None of them raises.

Moments in headers are told apart by the answer's own Date and never by a local clock, which
may be an hour off.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from budget.providers.standing import ProviderLimit, Unit

MOST = 10**12
"""A larger number is nonsense."""

_STEP = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def plain(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers by their names in lower case."""
    return {name.lower(): value.strip() for name, value in headers.items()}


def whole(text: str | None) -> int | None:
    """A number of tokens or requests; None if it is missing, or none."""
    if not text or not text.isascii() or not text.isdigit() or len(text) > len(str(MOST)):
        return None
    return int(text)


def span(text: str | None) -> float | None:
    """Seconds in a span such as `6m0s` or `120ms`; None if it is missing, or none."""
    if not text or "".join(step[0] for step in _STEP.finditer(text)) != text:
        return _number(text)
    seconds = sum(float(amount) * _SECONDS[unit] for amount, unit in _STEP.findall(text))
    return seconds if seconds <= MOST else None


def until(headers: Mapping[str, str], text: str | None) -> float | None:
    """Seconds from the answer's Date to a moment, 0 if it is past; None without either.

    The moment may be written as RFC 3339 or as HTTP does.
    """
    moment, now = _moment(text), _moment(headers.get("date"))
    return None if moment is None or now is None else max(0.0, (moment - now).total_seconds())


def wait(headers: Mapping[str, str]) -> float | None:
    """How many seconds the provider asks to stay away: the longest it says, if it says so.

    Whole seconds that only round milliseconds up are no other hint than those.
    """
    headers = plain(headers)
    milliseconds = _numbers(headers.get("retry-after-ms", ""))
    exact = max(milliseconds, default=0.0) / 1000
    said = headers.get("retry-after", "")
    hints = _numbers(said)
    if (of_date := until(headers, said)) is not None:
        hints.append(of_date)
    if milliseconds and max(hints, default=0.0) - exact < 1:
        return exact
    return max(hints, default=None)


def limit(
    unit: Unit, amount: str | None, remaining: str | None, reset_seconds: float | None
) -> list[ProviderLimit]:
    """One limit as its headers tell it; nothing if they don't."""
    told = whole(amount), whole(remaining)
    return [] if told == (None, None) else [ProviderLimit(unit, *told, reset_seconds)]


def _numbers(text: str) -> list[float]:
    """Those of a header that was sent several times."""
    found = (_number(part) for part in text.split(","))
    return [number for number in found if number is not None]


def _number(text: str | None) -> float | None:
    with suppress(ValueError):
        number = float(text or "")
        return number if 0 <= number <= MOST else None
    return None


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, OverflowError):
            moment = read(text)
            # HTTP knows no other time than this one.
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None
