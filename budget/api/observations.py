"""What providers say of their limits, as callers tell it."""

import msgspec
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import extend_schema

from budget import conf, services
from budget.api.body import decode, read
from budget.api.endpoint import Endpoint
from budget.api.problem import json_response
from budget.api.requests import ObservationBody
from budget.api.schema import problems
from budget.ledger.operations import Observed
from budget.providers.standing import ProviderLimit, Standing

OBSERVATION = msgspec.json.Decoder(ObservationBody)


class ObservationsView(Endpoint):
    """What the provider said."""

    @extend_schema(
        operation_id="observe",
        request=ObservationBody,
        responses={200: Observed, **problems(400, 403, 404, 411, 413, 415)},
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Tell what the provider's headers say is left, or that it refused a call.

        What is missing there and never came through us is recorded as a leak. A busy provider is
        left alone by the loosest classes first; one whose spend cap is reached pauses the pool.

        A key that is bound to classes can do no more by telling than by calling: no class of a
        stricter tier than its own is put off, limits come down no lower than the floors that its
        strictest class must leave alone, and its `money` is taken for busy unless one of its
        classes is interactive.
        """
        body = decode(OBSERVATION, read(request, conf.max_body_bytes()))
        observed = services.observe(body.pool, _standing(body), body.age_ms, self.caller)
        return json_response(observed)


def _standing(body: ObservationBody) -> Standing:
    return Standing(
        tuple(
            ProviderLimit(limit.unit, limit.amount, limit.remaining, _seconds(limit.reset_ms))
            for limit in body.limits
        ),
        body.refusal or "",
        _seconds(body.retry_after_ms),
    )


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
