"""The page of a pool's sheds, and its export."""

from threading import BoundedSemaphore

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from budget.dashboard.access import SEE_CALLS, needs
from budget.dashboard.sheds.context import context_of
from budget.dashboard.sheds.entries import place_of
from budget.dashboard.sheds.export import file_name, lines
from budget.dashboard.sheds.queries import in_order_of_time, window_of
from budget.dashboard.sheds.question import question_of
from budget.models import Pool

MOST_EXPORTS = 2
"""Written at once by one process, so that they take neither all memory nor all threads."""
TOO_MANY = "Other exports are being written just now. Try again in 10 seconds."

_exports = BoundedSemaphore(MOST_EXPORTS)


@needs(SEE_CALLS)
def sheds(request: HttpRequest, slug: str) -> HttpResponse:
    """Who was shed, why, and each shed call."""
    pool = get_object_or_404(Pool, slug=slug)
    question, place = question_of(request.GET), place_of(request.GET.get("before"))
    context = context_of(request, pool, question, place)
    return render(request, "budget/dashboard/sheds/page.html", context)


@needs(SEE_CALLS)
def sheds_csv(request: HttpRequest, slug: str) -> HttpResponse:
    """The entries of the page, all of them, as a file."""
    pool = get_object_or_404(Pool, slug=slug)
    question = question_of(request.GET)
    with in_order_of_time() as cursor:
        window = window_of(cursor, pool.pk, question)
    if not _exports.acquire(blocking=False):
        return HttpResponse(TOO_MANY, status=503, headers={"Retry-After": "10"})
    try:
        # Whole: what is streamed keeps its thread until the slowest reader has it all.
        content = b"".join(lines(window, question.filters))
    finally:
        _exports.release()
    name = file_name(pool.slug, window)
    return HttpResponse(
        content,
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
