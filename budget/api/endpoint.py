"""The base of all API views."""

import re
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from rest_framework.views import APIView

from budget.api.authentication import caller_of
from budget.api.errors import problem_of
from budget.api.problem import Problem
from budget.api.schema import ApiSchema
from budget.ledger.errors import BudgetError, Forbidden, UnknownClass, UnknownPool
from budget.ledger.operations import Caller

SLUG = re.compile(r"[-a-zA-Z0-9_]{1,50}")


class Endpoint(APIView):
    """Answers one path in JSON for the caller whose key the request carries.

    Handlers take Django's own request, set no cookies, and raise what is wrong: every
    error becomes a problem. Not supported, because none of it is free and the admission
    path runs here: parsers, renderers, negotiation, throttles, sessions, permissions.
    """

    schema = ApiSchema()
    http_method_names = ["get", "head", "post"]
    caller: Caller

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Runs the method's handler; half the cost of Django REST framework's own dispatch."""
        try:
            handler = self._handler(request)
            self.caller = caller_of(request)
            return handler(request, *args, **kwargs)
        except Exception as error:
            return problem_of(error, request).response()

    def require_pool(self, slug: str) -> None:
        """Refuses a pool the key is not bound to."""
        self._require(slug, self.caller.pools, "pool", UnknownPool)

    def require_class(self, slug: str) -> None:
        """Refuses a workload class the key is not bound to."""
        self._require(slug, self.caller.classes, "workload class", UnknownClass)

    def _require(
        self, slug: str, allowed: frozenset[str] | None, noun: str, unknown: type[BudgetError]
    ) -> None:
        if not SLUG.fullmatch(slug):
            raise unknown(f"No {noun} has the slug {slug!r}.")
        if allowed is not None and slug not in allowed:
            raise Forbidden(f"This key may not use the {noun} {slug!r}.")

    def _handler(self, request: HttpRequest) -> Callable[..., HttpResponse]:
        method = (request.method or "").lower()
        handler = getattr(self, method, None) if method in self.http_method_names else None
        if handler is None:
            allowed = ", ".join(self.allowed_methods)
            raise Problem(405, f"Use {allowed} here.", headers={"Allow": allowed})
        return handler
