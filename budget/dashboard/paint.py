"""What the scripts of a page draw and keep moving, as JSON."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from budget.dashboard.board import Board
from budget.dashboard.marks import Mark
from budget.dashboard.sentence import as_json


def whole(board: Board, marks: Sequence[Mark], linked: bool) -> dict[str, Any]:
    """All that charts need for the first paint; `linked` to sheds only if they may be seen."""
    return {
        **_moments(board),
        "known": _known(board, 0),
        "figures": [figure.as_json(linked) for figure in board.figures],
        "marks": [mark.as_json() for mark in marks],
    }


def since(board: Board, marks: Sequence[Mark], moment: datetime) -> dict[str, Any]:
    """What changed since a moment: the numbers of its step and all later ones, and what holds now.

    The moment is that of a step's start; if it isn't, all steps are given.
    """
    n = board.steps.times.index(moment) if moment in board.steps.times else 0
    return {
        **_moments(board),
        "since": int(board.steps.times[n].timestamp()),
        "known": _known(board, n),
        "figures": [figure.tail(n) for figure in board.figures],
        "findings": [as_json(figure.finding) for figure in board.figures],
        "rows": [row.as_json() for row in board.rows],
        "levels": [level.as_json() for level in board.levels],
        "states": board.states,
        "marks": [mark.as_json() for mark in marks],
    }


def _moments(board: Board) -> dict[str, Any]:
    """The steps, and the moment of looking, in seconds since the epoch."""
    return {
        "start": int(board.span.start.timestamp()),
        "step": int(board.steps.step.total_seconds()),
        "count": len(board.steps.times),
        "at": round(board.steps.at.timestamp(), 3),
        "shape": board.shape,
        "version": board.version,
    }


def _known(board: Board, n: int) -> str:
    """One digit per step from `n` on: 1 if something is known of it."""
    return "".join("1" if known else "0" for known in board.steps.known[n:])
