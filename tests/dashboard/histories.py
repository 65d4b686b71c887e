"""Histories as the ledger gives them, made by hand."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from budget.dashboard.lineup import Member
from budget.services import ClassHistory, FloorsSince, UsageHistory

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
ALLOWANCE = 1000
EARLY = datetime(1970, 1, 1, tzinfo=UTC)
NOBODY: dict[str, Any] = {"classes": {}, "limits": [], "batch_limits": []}


def history(
    known: str,
    classes: Mapping[str, ClassHistory] | None = None,
    step: timedelta = MINUTE,
    floors: Sequence[FloorsSince] = (FloorsSince(EARLY, 1, {}, ALLOWANCE),),
    at: datetime | None = None,
    minutes: Sequence[int | None] | None = None,
    allowance: Sequence[int | None] | None = None,
) -> UsageHistory:
    """One step for each digit of `known`: 1 if it is on record. By default it is over."""
    recorded = minutes or [step // MINUTE if digit == "1" else None for digit in known]
    return UsageHistory(
        start=START,
        step=step,
        unit="total_tokens",
        minutes=list(recorded),
        allowance=list(allowance or [n and ALLOWANCE * n for n in recorded]),
        classes=dict(classes or {}),
        floors=list(floors),
        at=at or START + len(known) * step,
        now=NOBODY,
    )


def did(shed: Mapping[str, list[Any]] | None = None, **columns: list[Any]) -> ClassHistory:
    """What one class did in each step."""
    return ClassHistory(columns, dict(shed or {}), {})


def member(slug: str, place: int = 0) -> Member:
    """A class of which only the name is known."""
    return Member(slug, place, None, None)
