"""Which problem each error becomes, and Django's own error pages for API paths."""

import logging
from functools import cache

from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.urls import reverse
from django.views import defaults
from rest_framework.exceptions import APIException

from budget.api.problem import Problem
from budget.ledger import errors as ledger

logger = logging.getLogger("django.request")

STATUSES: dict[type[Exception], int] = {
    ledger.UnknownPool: 404,
    ledger.UnknownClass: 404,
    ledger.UnknownCall: 404,
    ledger.UnknownJob: 404,
    ledger.Forbidden: 403,
    ledger.CallWasShed: 409,
    ledger.AlreadySettled: 409,
    ledger.CallOfJob: 409,
    ledger.JobEnded: 409,
    ledger.KeyReused: 422,
}
DJANGOS: dict[type[Exception], tuple[int, str]] = {
    SuspiciousOperation: (400, "The request is malformed."),
    BadRequest: (400, "The request is malformed."),
    PermissionDenied: (403, "Not allowed."),
    Http404: (404, "Nothing is served at this address."),
}
"""What Django raises on its own about a request, with the words it is answered in."""


def problem_of(error: Exception, request: HttpRequest) -> Problem:
    """The problem to answer `error` with. An unforeseen error is logged and tells nothing."""
    if isinstance(error, Problem):
        return error
    if type(error) in STATUSES:
        return Problem(STATUSES[type(error)], str(error))
    if isinstance(error, ledger.LedgerUnavailable):
        return unavailable(str(error), error.retry_after_seconds)
    if isinstance(error, ledger.Implausible):
        return Problem(400, f"{error.field}: {error.message}", field=error.field)
    if isinstance(error, OperationalError | InterfaceError):
        logger.warning("Database unavailable: %s", error)
        return unavailable("The database is unavailable; try again.", 1)
    if isinstance(error, APIException):
        return Problem(error.status_code, str(error.detail))
    if isinstance(error, UnreadablePostError):
        return Problem(400, "The body broke off before its Content-Length.")
    for kind, problem in DJANGOS.items():
        if isinstance(error, kind):
            return Problem(*problem)
    logger.error("Internal error: %s", request.path, exc_info=error)
    return Problem(500, "Something went wrong here; the request may be tried again.")


def unavailable(detail: str, seconds: int) -> Problem:
    """A 503 that names when to try again."""
    return Problem(
        503, detail, headers={"Retry-After": str(seconds)}, retry_after_ms=1000 * seconds
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """`handler400`: a problem below the API, Django's page elsewhere."""
    if not _is_api(request):
        return defaults.bad_request(request, exception)
    return Problem(*DJANGOS[SuspiciousOperation]).response()


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """`handler403`: a problem below the API, Django's page elsewhere."""
    if not _is_api(request):
        return defaults.permission_denied(request, exception)
    return Problem(*DJANGOS[PermissionDenied]).response()


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """`handler404`: a problem below the API, Django's page elsewhere."""
    if not _is_api(request):
        return defaults.page_not_found(request, exception)
    return Problem(404, _nothing_at(request.path)).response()


def _nothing_at(path: str) -> str:
    if path.count("/api/v1") > 1:
        return f"Nothing is served at {path}: leave /api/v1 off the address of the service."
    return f"Nothing is served at {path}."


def server_error(request: HttpRequest) -> HttpResponse:
    """`handler500`: a problem below the API, Django's page elsewhere."""
    if not _is_api(request):
        return defaults.server_error(request)
    return Problem(500, "Something went wrong here; the request may be tried again.").response()


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith(_api_paths())


@cache
def _api_paths() -> tuple[str, ...]:
    root = reverse("budget:healthz").removesuffix("healthz")
    return (f"{root}api/", f"{root}healthz", f"{root}readyz")
