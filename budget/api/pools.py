"""Pools as callers see them."""

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import extend_schema

from budget import services
from budget.api.endpoint import Endpoint
from budget.api.problem import json_response
from budget.api.responses import PoolView
from budget.api.schema import problems


class PoolDetailView(Endpoint):
    """One pool."""

    @extend_schema(operation_id="pool", responses={200: PoolView, **problems(403, 404)})
    def get(self, request: HttpRequest, slug: str) -> HttpResponse:
        """What is left of each limit, and each class's floor on it."""
        self.require_pool(slug)
        return json_response(services.pool_view(slug))
