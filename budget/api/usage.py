"""What classes used, minute by minute."""

from datetime import timedelta

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema

from budget import services
from budget.api.endpoint import Endpoint
from budget.api.problem import json_response
from budget.api.query import query_of, refused, span_of, span_parameters
from budget.api.responses import Usage
from budget.api.schema import problems
from budget.ledger.errors import UnknownClass
from budget.models import WorkloadClass

DEFAULT_SPAN = timedelta(hours=1)

PARAMETERS = [
    OpenApiParameter("pool", str, required=True, description="Slug of the pool."),
    *span_parameters("an hour"),
    OpenApiParameter("class", str, description="Slug of one workload class; default: all."),
]


class UsageView(Endpoint):
    """Usage of one pool."""

    @extend_schema(
        operation_id="usage",
        parameters=PARAMETERS,
        responses={200: Usage, **problems(400, 403, 404)},
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Minutes of each class the key may see, in order, the open minute included."""
        query = query_of(request, PARAMETERS)
        pool = query.get("pool")
        if not pool:
            raise refused("pool", "name the pool, for example ?pool=claims.")
        self.require_pool(pool)
        workload_class = query.get("class")
        if workload_class is not None:
            self.require_class(workload_class)
        start, end = span_of(query, DEFAULT_SPAN)
        minutes = services.usage(pool, start, end, workload_class)
        if workload_class is not None and not minutes:
            _require_known(workload_class)
        allowed = self.caller.classes
        if allowed is not None:
            minutes = [minute for minute in minutes if minute["workload_class"] in allowed]
        return json_response({"minutes": minutes})


def _require_known(workload_class: str) -> None:
    """A class may be gone and have usage, or be there and have none."""
    if not WorkloadClass.objects.filter(slug=workload_class).exists():
        raise UnknownClass(f"There is no workload class {workload_class!r}.")
