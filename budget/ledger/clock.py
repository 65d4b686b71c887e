"""Moments as whole microseconds since the epoch, and back."""

from datetime import UTC, datetime, timedelta

MICROSECOND = timedelta(microseconds=1)
MILLISECOND = 1_000
MINUTE = 60_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(micros: int) -> datetime:
    """The datetime of a moment."""
    return EPOCH + timedelta(microseconds=micros)


def micros(when: datetime) -> int:
    """The moment of an aware datetime."""
    return (when - EPOCH) // MICROSECOND


def minute_of(micros: int) -> int:
    """The start of the minute a moment lies in."""
    return micros - micros % MINUTE
