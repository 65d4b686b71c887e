"""Processes that call, and what they do while the service is away."""

import msgspec
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import extend_schema
from msgspec.structs import asdict

from budget import conf, services
from budget.api.body import decode, read
from budget.api.endpoint import Endpoint
from budget.api.problem import json_response
from budget.api.requests import CallerBody
from budget.api.schema import problems
from budget.services import AwayReport, PoolForCallers

CALLER = msgspec.json.Decoder(CallerBody)


class CallersView(Endpoint):
    """Processes that call a pool."""

    @extend_schema(
        operation_id="hear",
        request=CallerBody,
        responses={200: PoolForCallers, **problems(400, 403, 404, 411, 413, 415)},
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Say every 30 s that a process is alive, and learn what it needs to go on without us.

        At its end it may say that it is `leaving`, so that the others' shares grow at once.
        """
        body = decode(CALLER, read(request, conf.max_body_bytes()))
        told = services.hear(
            body.pool,
            body.process,
            body.name,
            [AwayReport(**asdict(report)) for report in body.away],
            self.caller,
            body.leaving,
        )
        return json_response(told)
