"""Admission of calls, and what becomes of them."""

import math
from typing import Any
from uuid import UUID

import msgspec
from django.http import HttpRequest, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from msgspec import UNSET

from budget import conf, services
from budget.api.body import decode, read
from budget.api.endpoint import Endpoint
from budget.api.errors import problem_of
from budget.api.idempotency import fingerprint, key_of
from budget.api.problem import (
    ABOUT_BLANK,
    PROBLEM_JSON,
    QUOTA_EXCEEDED,
    Problem,
    json_response,
    title,
)
from budget.api.requests import AdmissionBody, BatchBody, BatchItem, RawBatch, RenewBody, SettleBody
from budget.api.responses import Admitted, BatchResults, CallView, ProblemBody, Shed
from budget.api.schema import REFERENCES, problems
from budget.ledger.errors import BudgetError
from budget.ledger.operations import NEVER_LEFT, Admission, AdmissionRequest, Renewed, Settled

ADMISSION = msgspec.json.Decoder(AdmissionBody)
BATCH = msgspec.json.Decoder(RawBatch)
ITEM = msgspec.json.Decoder(BatchItem)
SETTLE = msgspec.json.Decoder(SettleBody)
RENEW = msgspec.json.Decoder(RenewBody)

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

ADMISSION_ID = OpenApiParameter("admission_id", OpenApiTypes.UUID, OpenApiParameter.PATH)


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
            return json_response(_admitted(admission), 201)
        shed = _shed(admission)
        response = json_response(shed, shed.status, _retry_headers(admission), PROBLEM_JSON)
        # A refusal is an answer, not a fault: Django would log a warning for each one.
        response._has_been_logged = True  # type: ignore[attr-defined]
        return response


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
        fingerprint="" if key is None else fingerprint(body),
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
        return {"status": 201, **msgspec.to_builtins(_admitted(result))}
    return dict(msgspec.to_builtins(_shed(result)))


def _admitted(admission: Admission) -> Admitted:
    return Admitted(
        id=admission.id,
        pool=admission.pool,
        workload_class=admission.workload_class,
        tier=admission.tier,
        deadline=admission.deadline,
        lease_expires=admission.lease_expires,
        charged=admission.charged,
        policy_version=admission.policy_version,
        would_be=admission.would_be or UNSET,
    )


def _shed(admission: Admission) -> Shed:
    status = 422 if admission.reason == "never_fits" else 429
    return Shed(
        type=ABOUT_BLANK if status == 422 else QUOTA_EXCEEDED,
        title=title(status),
        status=status,
        detail=admission.detail,
        id=admission.id,
        reason=admission.reason,
        limit=admission.limit,
        retryable=admission.retryable,
        retry_after_ms=admission.retry_after_ms,
        pool=admission.pool,
        workload_class=admission.workload_class,
        policy_version=admission.policy_version,
    )


def _retry_headers(admission: Admission) -> dict[str, str]:
    if not admission.retryable or admission.retry_after_ms is None:
        return {}
    milliseconds = max(1, admission.retry_after_ms)
    return {
        "Retry-After": str(math.ceil(milliseconds / 1000)),
        "retry-after-ms": str(milliseconds),
    }


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
