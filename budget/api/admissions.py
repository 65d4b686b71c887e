"""Calls that ask to be admitted."""

from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from budget import conf, services
from budget.api.answers import admitted_body, refusal_response, shed_body
from budget.api.body import decode, read
from budget.api.endpoint import Endpoint
from budget.api.errors import problem_of
from budget.api.idempotency import key_of
from budget.api.problem import PROBLEM_JSON, Problem, json_response
from budget.api.requests import AdmissionBody, BatchBody, BatchItem, RawBatch
from budget.api.responses import Admitted, BatchResults, ProblemBody, Shed
from budget.api.schema import REFERENCES, problems
from budget.ledger.errors import BudgetError
from budget.ledger.operations import Admission, AdmissionRequest

ADMISSION = msgspec.json.Decoder(AdmissionBody)
BATCH = msgspec.json.Decoder(RawBatch)
ITEM = msgspec.json.Decoder(BatchItem)

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="Bare or in double quotes; kept 24 h per API key and pool. An admitted decision "
    "is replayed, a shed one decided anew with its first id and deadline.",
)
RETRY_HEADERS = [
    OpenApiParameter(
        name, OpenApiTypes.INT, OpenApiParameter.HEADER, response=[429], description=text
    )
    for name, text in (
        ("Retry-After", "Whole seconds, at least 1; absent when not retryable."),
        ("retry-after-ms", "Milliseconds; absent when not retryable."),
    )
]

NEVER = {"anyOf": [{"$ref": REFERENCES.format(name=body.__name__)} for body in (Shed, ProblemBody)]}


class AdmissionsView(Endpoint):
    """Calls that want to be made."""

    @extend_schema(
        operation_id="admit",
        parameters=[IDEMPOTENCY_KEY, *RETRY_HEADERS],
        request=AdmissionBody,
        responses={
            201: Admitted,
            (429, PROBLEM_JSON): OpenApiResponse(Shed, description="Shed: not now."),
            **problems(400, 403, 404, 411, 413, 415),
            (422, PROBLEM_JSON): OpenApiResponse(
                NEVER, description="The call never fits, or its idempotency key is another call's."
            ),
        },
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Admit a call or shed it, saying why and when to come back."""
        body = decode(ADMISSION, read(request, conf.max_body_bytes()))
        admission = services.admit(_request(body, key_of(request)), self.caller)
        if admission.admitted:
            return json_response(admitted_body(admission), 201)
        return refusal_response(admission)


class BatchView(Endpoint):
    """Many calls at once."""

    @extend_schema(
        operation_id="admit_batch",
        request=BatchBody,
        responses={200: BatchResults, **problems(400, 411, 413, 415)},
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Decide up to 100 calls, each as if it came alone."""
        if "HTTP_IDEMPOTENCY_KEY" in request.META:
            raise Problem(
                400,
                "Idempotency-Key: a batch has none; give its calls an idempotency_key each.",
                field="Idempotency-Key",
            )
        body = decode(BATCH, read(request, conf.max_batch_bytes()))
        wanted = [_item(raw, f"admissions[{n}]") for n, raw in enumerate(body.admissions)]
        asked = [item for item in wanted if isinstance(item, AdmissionRequest)]
        decided = iter(services.admit_many(asked, self.caller))
        results = [item if isinstance(item, Problem) else next(decided) for item in wanted]
        return json_response({"results": [_result(result, request) for result in results]})


def _request(body: AdmissionBody, key: str | None) -> AdmissionRequest:
    return AdmissionRequest(
        pool=body.pool,
        workload_class=body.workload_class,
        input_tokens=body.input_tokens,
        output_tokens=body.output_tokens,
        deadline_ms=body.deadline_ms,
        source=body.source,
        tags=body.tags,
        idempotency_key=key,
    )


def _item(raw: msgspec.Raw, within: str) -> AdmissionRequest | Problem:
    try:
        body = decode(ITEM, bytes(raw), within)
    except Problem as problem:
        return problem
    return _request(body, body.idempotency_key)


def _result(result: Admission | BudgetError | Problem, request: HttpRequest) -> dict[str, Any]:
    if isinstance(result, Exception):
        return problem_of(result, request).body
    if result.admitted:
        return {"status": 201, **msgspec.to_builtins(admitted_body(result))}
    return dict(msgspec.to_builtins(shed_body(result)))
