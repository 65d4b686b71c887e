"""Reads the query of an address, or says what is wrong with it."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec
from django.http import HttpRequest
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from msgspec import Meta

from budget.api.problem import Problem

MAX_SPAN = timedelta(days=7)
FIRST_YEAR, LAST_YEAR = 2000, 9000

Moment = Annotated[datetime, Meta(tz=True)]


def span_parameters(default: str) -> list[OpenApiParameter]:
    """`from` and `to` as the schema has them; `default` says in words how long it is."""
    return [
        OpenApiParameter(
            "from", OpenApiTypes.DATETIME, description=f"Default: {default} before `to`."
        ),
        OpenApiParameter(
            "to", OpenApiTypes.DATETIME, description="Default: now. At most 7 days after `from`."
        ),
    ]


def query_of(request: HttpRequest, parameters: Iterable[OpenApiParameter]) -> dict[str, str]:
    """The parameters by name; a 400 problem for an unknown or a repeated one."""
    names = sorted(parameter.name for parameter in parameters)
    for name, values in request.GET.lists():
        if name not in names:
            raise refused(name, f"unknown; use {', '.join(names)}.")
        if len(values) > 1:
            raise refused(name, "give it once.")
    return request.GET.dict()


def span_of(query: dict[str, str], default: timedelta) -> tuple[datetime, datetime]:
    """From when to when; `default` is how long that is unless the query says."""
    end = _moment("to", query["to"]) if "to" in query else datetime.now(UTC)
    start = _moment("from", query["from"]) if "from" in query else end - default
    if not timedelta(0) < end - start <= MAX_SPAN:
        raise refused("from", f"must lie before `to`, by at most {MAX_SPAN.days} days.")
    return start, end


def refused(name: str, detail: str) -> Problem:
    """The problem with one parameter."""
    return Problem(400, f"{name}: {detail}", field=name)


def _moment(name: str, text: str) -> datetime:
    try:
        moment = msgspec.convert(text, Moment)
    except msgspec.ValidationError:
        raise refused(
            name, "write it as RFC 3339, for example 2026-01-31T12:00:00Z (a + as %2B)."
        ) from None
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise refused(name, f"must lie between {FIRST_YEAR} and {LAST_YEAR}.")
    return moment.astimezone(UTC)
