"""Calls that name no workload class."""

from datetime import timedelta

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema

from budget import services
from budget.api.endpoint import Endpoint
from budget.api.problem import json_response
from budget.api.query import query_of, span_of, span_parameters
from budget.api.schema import problems
from budget.services import UntaggedCalls

DEFAULT_SPAN = timedelta(days=1)

PARAMETERS = [
    OpenApiParameter("pool", str, description="Slug of the pool; default: all the key may use."),
    *span_parameters("a day"),
]


class UntaggedView(Endpoint):
    """Untagged calls, by where they come from."""

    @extend_schema(
        operation_id="untagged",
        parameters=PARAMETERS,
        responses={200: UntaggedCalls, **problems(400, 403, 404)},
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Where calls without a class come from, newest first, whether shed or let into one."""
        query = query_of(request, PARAMETERS)
        pool = query.get("pool")
        if pool is not None:
            self.require_pool(pool)
        return json_response(services.untagged(pool, *span_of(query, DEFAULT_SPAN), self.caller))
