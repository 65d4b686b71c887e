"""The page of a pool: who uses it, who is shed, who waits."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from budget.dashboard.access import SEE_CALLS, SEE_USAGE, needs
from budget.dashboard.board import board_of
from budget.dashboard.context import context_of
from budget.dashboard.policy_rows import policy_rows
from budget.dashboard.span import span_of
from budget.dashboard.switches import switching
from budget.dashboard.untagged import untagged_callers
from budget.models import Pool, ProviderLimit
from budget.pages.provider_limits import disagreements


@needs(SEE_USAGE)
def pool_page(request: HttpRequest, slug: str) -> HttpResponse:
    """All classes on a pool, in the time that the address names."""
    policy = policy_rows(slug)
    board = board_of(policy, span_of(request.GET))
    callers = None
    if request.user.has_perm(SEE_CALLS):
        callers = untagged_callers(policy.pool, board.span, board.untagged)
    told = ProviderLimit.objects.filter(pool_id=policy.pool.pk)
    context = {
        "untagged": callers,
        "disagreements": disagreements(policy.pool, told),
        "policy_form": _form(request, policy.pool),
        **context_of(request, policy.pool, board),
        **switching(request, policy.pool),
    }
    return render(request, "budget/dashboard/pool.html", context)


def _form(request: HttpRequest, pool: Pool) -> str:
    """Where the pool is edited; empty for those who may not."""
    if not (request.user.is_staff and request.user.has_perm("budget.change_pool")):
        return ""
    return reverse("admin:budget_pool_change", args=[pool.pk])
