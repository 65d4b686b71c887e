"""Keeps the middleware made for pages away from the API."""

from collections.abc import Callable
from functools import lru_cache
from time import perf_counter

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponseBase
from django.urls import Resolver404, ResolverMatch, resolve

from budget.api.endpoint import Endpoint
from budget.api.problem import Problem
from budget.api.traffic import count

PROBED = frozenset({"healthz", "metrics", "readyz"})
"""The app's pages that are asked by address, whatever names the service has: any Host will do."""

BAD_HOST = Problem(
    400,
    "Host: the service does not answer to this name; its ALLOWED_HOSTS lists those it does.",
    field="Host",
)


class ApiMiddleware:
    """Answers API requests and probes itself, without the middleware listed below it.

    Sessions, CSRF, messages, history and page headers mean nothing to a caller with a
    key, and cost each admission time; what Prometheus is to see of a request is counted
    here. Place it after the security middleware and before django-prometheus' last one.
    The API works without it, slower. Not supported: a URLconf chosen per request.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The endpoint's answer, or that of the rest of the chain for any other path."""
        match = _match(request.path_info, settings.ROOT_URLCONF)
        if match is None:
            return self.get_response(request)
        started = perf_counter()
        request.resolver_match = match
        response = _bad_host(request, match) or match.func(request, *match.args, **match.kwargs)
        count(request, match, response, started)
        return response


@lru_cache(maxsize=1024)
def _match(path: str, urlconf: str) -> ResolverMatch | None:
    """The endpoint at a path; remembered, as resolving is a fifth of an admission's overhead."""
    try:
        match = resolve(path, urlconf)
    except Resolver404:
        return None
    if _is_probed(match) or issubclass(getattr(match.func, "cls", object), Endpoint):
        return match
    return None


def _bad_host(request: HttpRequest, match: ResolverMatch) -> HttpResponseBase | None:
    """The refusal of an endpoint asked for under a name that is not the service's."""
    if _is_probed(match):
        return None
    try:
        request.get_host()
    except DisallowedHost:
        return BAD_HOST.response()
    return None


def _is_probed(match: ResolverMatch) -> bool:
    return match.url_name in PROBED and match.app_names[-1:] == ["budget"]
