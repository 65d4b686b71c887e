"""A refusal as a response of any Django view that calls the budget in process."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from budget.api.answers import refusal_response, retry_headers, shed_body, unlogged
from budget.api.problem import PROBLEM_JSON
from budget.ledger.errors import Shed

__all__ = ["retry_headers", "shed_response", "unlogged"]

PAGE = "budget/shed.html"


def shed_response(request: HttpRequest, shed: Shed) -> HttpResponse:
    """What the REST API would answer, or a page for who prefers HTML; 429, never_fits 422.

    The page is `budget/shed.html`, with the admission and the whole seconds to wait, if
    any, as `admission` and `seconds`; a project may override it.
    """
    wanted = request.get_preferred_type(["application/json", PROBLEM_JSON, "text/html"])
    if wanted != "text/html":
        return refusal_response(shed.admission)
    headers = retry_headers(shed.admission)
    context = {"admission": shed.admission, "seconds": headers.get("Retry-After")}
    response = render(request, PAGE, context, status=shed_body(shed.admission).status)
    for name, value in headers.items():
        response.headers[name] = value
    return unlogged(response)
