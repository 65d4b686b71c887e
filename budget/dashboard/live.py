"""What is new on a board, for pages that stand open."""

from datetime import UTC, datetime, timedelta

import msgspec
from django.http import HttpRequest, HttpResponse

from budget.dashboard import paint
from budget.dashboard.access import SEE_USAGE, needs
from budget.dashboard.board import board_of
from budget.dashboard.lineup import slug_of
from budget.dashboard.marks import marks
from budget.dashboard.policy_rows import policy_rows
from budget.dashboard.span import BadSpan, span_of


@needs(SEE_USAGE)
def live(request: HttpRequest, slug: str) -> HttpResponse:
    """The steps from `since` on, what holds now, and the policy changes since `version`.

    `since` and `changed`, the moment of the newest change that the page knows, are seconds
    since the epoch; `range` is as on the page, `class` names one class.
    """
    policy = policy_rows(slug)
    span = span_of(request.GET)
    name = request.GET.get("class")
    board = board_of(policy, span, None if name is None else slug_of(policy, name))
    changed = _seconds(request, "changed") or span.start
    known = request.GET.get("version") == str(board.version)
    told = [] if known else marks(request, policy.pool, changed, span.end).newest
    answer = paint.since(board, told, _seconds(request, "since") or span.start)
    response = HttpResponse(msgspec.json.encode(answer), content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response


def _seconds(request: HttpRequest, name: str) -> datetime | None:
    """A moment that the address names. Raises BadSpan."""
    text = request.GET.get(name)
    if text is None:
        return None
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=float(text))
    except (ValueError, OverflowError):
        raise BadSpan(f"{name}: write it as seconds since 1970, for example 1767225600.") from None
