"""What the templates of a board need."""

from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from budget.dashboard import paint
from budget.dashboard.access import SEE_CALLS
from budget.dashboard.addresses import class_address, pool_address, sheds_address
from budget.dashboard.board import Board
from budget.dashboard.figure import Figure
from budget.dashboard.marks import SEE_HISTORY, marks
from budget.dashboard.rows import COLUMNS, GROUPS, Reason, Row
from budget.dashboard.sentence import as_html
from budget.dashboard.span import RANGES
from budget.models import Pool

SECONDS = {"live": 2, "15m": 10, "1h": 10}
"""How often a page asks for what is new, by range."""
SELDOM = 60


class ToldFigure(NamedTuple):
    """A figure with its caption."""

    figure: Figure
    caption: str


class LinkedRow(NamedTuple):
    """A row with the pages it leads to."""

    row: Row
    address: str
    sheds: str
    reasons: list[tuple[Reason, str]]


def context_of(
    request: HttpRequest, pool: Pool, board: Board, slug: str | None = None
) -> dict[str, Any]:
    """What a page shows, and where it asks for what is new; `slug` for that of a class."""
    span, linked = board.span, request.user.has_perm(SEE_CALLS)
    changes = marks(request, pool, span.start, span.end)
    live = reverse("budget:dashboard_live", args=[pool.slug])
    only = {} if slug is None else {"class": board.rows[0].member.in_address}
    return {
        "pool": pool,
        "span": span,
        "ranges": {name: label for name, (label, _) in RANGES.items()},
        "board": board,
        "figures": [ToldFigure(f, as_html(f.finding, board.form)) for f in board.figures],
        "rows": [_linked(pool, row, span.query) for row in board.rows],
        "groups": GROUPS,
        "columns": COLUMNS,
        "marks": changes.newest[::-1],
        "more_marks": changes.more,
        "data": paint.whole(board, changes.newest, linked),
        "live": f"{live}?{urlencode({'range': span.name, **only})}" if span.live else "",
        "every": SECONDS.get(span.name, SELDOM),
        "may_see_sheds": linked,
        "may_see_history": request.user.has_perm(SEE_HISTORY),
        "sheds_address": sheds_address(pool, span.query, **only),
        "pool_address": pool_address(pool, span.query),
    }


def _linked(pool: Pool, row: Row, span: str) -> LinkedRow:
    name = row.member.in_address
    return LinkedRow(
        row,
        class_address(pool, name, span),
        sheds_address(pool, span, **{"class": name}),
        [
            (
                r,
                sheds_address(
                    pool, span, **{"class": name, "reason": r.reason, "decision": r.decision}
                ),
            )
            for r in row.reasons
        ],
    )
