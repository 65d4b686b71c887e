"""The page of a pool: who uses it, who is shed, who waits."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from budget.dashboard.access import SEE_USAGE, needs
from budget.dashboard.board import board_of
from budget.dashboard.context import context_of
from budget.dashboard.span import span_of
from budget.dashboard.switches import switching
from budget.models import Pool

POOLS = Pool.objects.prefetch_related("limits", "reservations__workload_class")


@needs(SEE_USAGE)
def pool_page(request: HttpRequest, slug: str) -> HttpResponse:
    """All classes on a pool, in the time that the address names."""
    pool = get_object_or_404(POOLS, slug=slug)
    board = board_of(pool, span_of(request.GET))
    context = {
        **context_of(request, pool, board),
        **switching(request, pool),
    }
    return render(request, "budget/dashboard/pool.html", context)
