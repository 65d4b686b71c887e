"""Sheds over time, as bars."""

from datetime import datetime
from typing import Any, NamedTuple

from django.db.backends.utils import CursorWrapper

from budget.dashboard.sheds.queries import BINS, Where, Window
from budget.dashboard.sheds.question import Question

WIDTH, HEIGHT = 1000.0, 100.0
"""Of the drawing, in its own units."""
GAP = 0.15
"""Between bars, as a part of a step."""


class Box(NamedTuple):
    """Where a rectangle lies, as SVG has it."""

    x: str
    y: str
    width: str
    height: str


class Bar(NamedTuple):
    """One step of time."""

    at: datetime
    shed: int
    would_be: int
    shed_box: Box
    all_box: Box
    """Calls that would be shed stand on top of those that were."""
    whole_box: Box
    """From top to bottom, to be pressed."""
    query: str
    """What an address says to show this step alone."""


class Timeline(NamedTuple):
    """All steps that have sheds in them."""

    bars: list[Bar]
    most: int
    """Calls in the highest bar."""
    found: int
    """Calls in all bars."""
    unseen: list[Box]
    """The time before and after the sheds that were looked at, as far as it was not."""

    @property
    def shed(self) -> int:
        """Of all calls found, those that were shed."""
        return sum(bar.shed for bar in self.bars)


def timeline(cursor: CursorWrapper, question: Question, window: Window, where: Where) -> Timeline:
    """Count the sheds in each step of time."""
    span = question.span
    params: dict[str, Any] = {**where.params, "step": span.step, "start": span.start}
    cursor.execute(BINS.format(where=where.sql), params)
    rows = cursor.fetchall()
    most = max((calls for _, _, calls in rows), default=0)
    return Timeline(
        bars=[_bar(question, at, shed, calls - shed, most) for at, shed, calls in rows],
        most=most,
        found=sum(calls for _, _, calls in rows),
        unseen=_unseen(question, window),
    )


def _unseen(question: Question, window: Window) -> list[Box]:
    parts = [(0.0, _x(question, window.since)), (_x(question, window.until), WIDTH)]
    return [_box(left, right, HEIGHT, gap=0) for left, right in parts if left < right]


def _bar(question: Question, at: datetime, shed: int, would_be: int, most: int) -> Bar:
    end = at + question.span.step
    left, right = _x(question, at), _x(question, end)
    return Bar(
        at=at,
        shed=shed,
        would_be=would_be,
        shed_box=_box(left, right, HEIGHT * shed / most),
        all_box=_box(left, right, HEIGHT * (shed + would_be) / most),
        whole_box=_box(left, right, HEIGHT),
        query=question.within(at, end).query,
    )


def _box(left: float, right: float, height: float, gap: float = GAP) -> Box:
    width = right - left
    return Box(
        *(
            f"{number:.2f}"
            for number in (left + width * gap / 2, HEIGHT - height, width * (1 - gap), height)
        )
    )


def _x(question: Question, at: datetime) -> float:
    span = question.span
    return WIDTH * ((at - span.start) / (span.end - span.start))
