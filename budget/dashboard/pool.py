"""The page of a pool: who uses it, who is shed, who waits."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from budget.dashboard.access import SEE_CALLS, SEE_USAGE, needs
from budget.dashboard.board import board_of
from budget.dashboard.context import context_of
from budget.dashboard.policy_rows import policy_rows
from budget.dashboard.span import span_of
from budget.dashboard.switches import switching
from budget.dashboard.untagged import untagged_callers


@needs(SEE_USAGE)
def pool_page(request: HttpRequest, slug: str) -> HttpResponse:
    """All classes on a pool, in the time that the address names."""
    policy = policy_rows(slug)
    board = board_of(policy, span_of(request.GET))
    callers = None
    if request.user.has_perm(SEE_CALLS):
        callers = untagged_callers(policy.pool, board.span, board.untagged)
    context = {
        "untagged": callers,
        **context_of(request, policy.pool, board),
        **switching(request, policy.pool),
    }
    return render(request, "budget/dashboard/pool.html", context)
