"""What becomes of calls once they are decided."""

from uuid import UUID

import msgspec
from django.http import HttpRequest, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from msgspec import UNSET

from budget import conf, services
from budget.api.body import decode, read
from budget.api.endpoint import Endpoint
from budget.api.problem import Problem, json_response
from budget.api.requests import RenewBody, SettleBody
from budget.api.responses import CallView
from budget.api.schema import problems
from budget.ledger.operations import NEVER_LEFT, Renewed, Settled

SETTLE = msgspec.json.Decoder(SettleBody)
RENEW = msgspec.json.Decoder(RenewBody)

ADMISSION_ID = OpenApiParameter("admission_id", OpenApiTypes.UUID, OpenApiParameter.PATH)


class AdmissionView(Endpoint):
    """One call."""

    @extend_schema(
        operation_id="explain",
        parameters=[ADMISSION_ID],
        responses={200: CallView, **problems(404)},
    )
    def get(self, request: HttpRequest, admission_id: str) -> HttpResponse:
        """The decision with its arithmetic per limit, the call's state and what it used."""
        return json_response(services.explain(_id(admission_id), self.caller))


class SettleView(Endpoint):
    """The end of a call."""

    @extend_schema(
        operation_id="settle",
        parameters=[ADMISSION_ID],
        request=SettleBody,
        responses={200: Settled, **problems(400, 404, 409, 411, 413, 415)},
    )
    def post(self, request: HttpRequest, admission_id: str) -> HttpResponse:
        """Replace a call's estimate by what it really used; the same body again is harmless."""
        body = decode(SETTLE, read(request, conf.max_body_bytes()))
        settled = services.settle(
            _id(admission_id),
            body.outcome,
            _used(body, "input_tokens"),
            _used(body, "output_tokens"),
            body.cached_input_tokens,
            self.caller,
        )
        return json_response(settled)


class RenewView(Endpoint):
    """A call that takes longer."""

    @extend_schema(
        operation_id="renew",
        parameters=[ADMISSION_ID],
        request=RenewBody,
        responses={200: Renewed, **problems(400, 404, 409, 411, 413, 415)},
    )
    def post(self, request: HttpRequest, admission_id: str) -> HttpResponse:
        """Extend the lease of an admitted call."""
        body = decode(RENEW, read(request, conf.max_body_bytes()))
        return json_response(services.renew(_id(admission_id), body.extend_ms, self.caller))


def _used(body: SettleBody, field: str) -> int:
    tokens = getattr(body, field)
    if tokens is not UNSET:
        return int(tokens)
    if body.outcome in NEVER_LEFT:
        return 0
    raise Problem(400, f"{field}: say how many tokens the call used.", field=field)


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Problem(404, "No admission has this id.") from None
