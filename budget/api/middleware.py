"""Keeps the middleware made for pages away from the API."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.urls import Resolver404, ResolverMatch, resolve

from budget.api.endpoint import Endpoint


class ApiMiddleware:
    """Answers API requests itself, without the middleware listed below it.

    Sessions, CSRF, messages, history and page headers mean nothing to a caller with a
    key, and cost each admission time. Place it after the security middleware. The API
    works without it, slower. Not supported: a URLconf chosen per request.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The endpoint's answer, or that of the rest of the chain for any other path."""
        match = _match(request)
        if match is None:
            return self.get_response(request)
        request.resolver_match = match
        response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        return response


def _match(request: HttpRequest) -> ResolverMatch | None:
    try:
        match = resolve(request.path_info)
    except Resolver404:
        return None
    return match if issubclass(getattr(match.func, "cls", object), Endpoint) else None
