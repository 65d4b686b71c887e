"""Seconds of a storm in the database, where the storm page finds them."""

from datetime import datetime, timedelta

import msgspec

from claims_demo.models.storm import StormControl, StormSecond
from claims_demo.storm.stage import Sheet

KEPT = timedelta(hours=1)


def record(at: datetime, strength: int, sheet: Sheet) -> None:
    """Keeps one second; now and then forgets those of more than an hour ago.

    If two storms rage on one database, the one that comes first is shown.
    """
    second = StormSecond(
        at=at,
        strength=strength,
        waits_ms=sheet.waits_ms,
        late_ms=sheet.late_ms,
        counts=msgspec.to_builtins(sheet.tallies),
    )
    StormSecond.objects.bulk_create([second], ignore_conflicts=True)
    if at.second == 0:
        StormSecond.objects.filter(at__lt=at - KEPT).delete()


def chosen_strength() -> int | None:
    """How strong a person wants the storm; None if it is left to the weather."""
    return StormControl.objects.values_list("strength", flat=True).first()
