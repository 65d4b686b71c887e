"""The page of a pool's sheds, and its export."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render

from budget.dashboard.access import SEE_CALLS, needs
from budget.dashboard.sheds.context import context_of
from budget.dashboard.sheds.entries import place_of
from budget.dashboard.sheds.export import file_name, lines
from budget.dashboard.sheds.queries import in_order_of_time, window_of
from budget.dashboard.sheds.question import question_of
from budget.models import Pool


@needs(SEE_CALLS)
def sheds(request: HttpRequest, slug: str) -> HttpResponse:
    """Who was shed, why, and each shed call."""
    pool = get_object_or_404(Pool, slug=slug)
    question, place = question_of(request.GET), place_of(request.GET.get("before"))
    context = context_of(request, pool, question, place)
    return render(request, "budget/dashboard/sheds/page.html", context)


@needs(SEE_CALLS)
def sheds_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The entries of the page, all of them, as a file."""
    pool = get_object_or_404(Pool, slug=slug)
    question = question_of(request.GET)
    with in_order_of_time() as cursor:
        window = window_of(cursor, pool.pk, question)
    name = file_name(pool.slug, window)
    return StreamingHttpResponse(
        lines(window, question.filters),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
