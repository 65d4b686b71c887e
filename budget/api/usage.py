"""What classes used, minute by minute."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec
from django.http import HttpRequest, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from msgspec import Meta

from budget import services
from budget.api.endpoint import Endpoint
from budget.api.problem import Problem, json_response
from budget.api.responses import Usage
from budget.api.schema import problems
from budget.ledger.errors import UnknownClass
from budget.models import WorkloadClass

DEFAULT_SPAN = timedelta(hours=1)
MAX_SPAN = timedelta(days=7)
FIRST_YEAR, LAST_YEAR = 2000, 9000

Moment = Annotated[datetime, Meta(tz=True)]

PARAMETERS = [
    OpenApiParameter("pool", str, required=True, description="Slug of the pool."),
    OpenApiParameter("from", OpenApiTypes.DATETIME, description="Default: an hour before `to`."),
    OpenApiParameter(
        "to", OpenApiTypes.DATETIME, description="Default: now. At most 7 days after `from`."
    ),
    OpenApiParameter("class", str, description="Slug of one workload class; default: all."),
]
NAMES = frozenset(parameter.name for parameter in PARAMETERS)


class UsageView(Endpoint):
    """Usage of one pool."""

    @extend_schema(
        operation_id="usage",
        parameters=PARAMETERS,
        responses={200: Usage, **problems(400, 403, 404)},
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Minutes of each class the key may see, in order, the open minute included."""
        query = _query(request)
        pool = query.get("pool")
        if not pool:
            raise _refused("pool", "name the pool, for example ?pool=claims.")
        self.require_pool(pool)
        workload_class = query.get("class")
        if workload_class is not None:
            self.require_class(workload_class)
        start, end = _span(query)
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


def _query(request: HttpRequest) -> dict[str, str]:
    for name, values in request.GET.lists():
        if name not in NAMES:
            raise _refused(name, f"unknown; use {', '.join(sorted(NAMES))}.")
        if len(values) > 1:
            raise _refused(name, "give it once.")
    return request.GET.dict()


def _span(query: dict[str, str]) -> tuple[datetime, datetime]:
    end = _moment("to", query["to"]) if "to" in query else datetime.now(UTC)
    start = _moment("from", query["from"]) if "from" in query else end - DEFAULT_SPAN
    if not timedelta(0) < end - start <= MAX_SPAN:
        raise _refused("from", f"must lie before `to`, by at most {MAX_SPAN.days} days.")
    return start, end


def _moment(name: str, text: str) -> datetime:
    try:
        moment = msgspec.convert(text, Moment)
    except msgspec.ValidationError:
        raise _refused(
            name, "write it as RFC 3339, for example 2026-01-31T12:00:00Z (a + as %2B)."
        ) from None
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise _refused(name, f"must lie between {FIRST_YEAR} and {LAST_YEAR}.")
    return moment.astimezone(UTC)


def _refused(name: str, detail: str) -> Problem:
    return Problem(400, f"{name}: {detail}", field=name)
