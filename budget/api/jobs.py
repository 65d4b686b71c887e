"""Near-line and bulk work that waits its turn."""

from uuid import UUID

import msgspec
from django.http import HttpRequest, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from budget import conf, services
from budget.api.admissions import NEVER, RETRY_HEADERS
from budget.api.answers import accepted_body, refusal_response
from budget.api.body import decode, read
from budget.api.endpoint import Endpoint
from budget.api.idempotency import key_of
from budget.api.problem import PROBLEM_JSON, Problem, json_response
from budget.api.requests import JobBody
from budget.api.responses import JobAccepted, JobView, Shed
from budget.api.schema import problems

JOB = msgspec.json.Decoder(JobBody)

JOB_ID = OpenApiParameter("job_id", OpenApiTypes.UUID, OpenApiParameter.PATH)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="Bare or in double quotes; kept 24 h per API key and pool. The same job is "
    "answered with the place it has by then.",
)


class JobsView(Endpoint):
    """Jobs that want a place."""

    @extend_schema(
        operation_id="enqueue",
        parameters=[IDEMPOTENCY_KEY, *RETRY_HEADERS],
        request=JobBody,
        responses={
            202: JobAccepted,
            (429, PROBLEM_JSON): OpenApiResponse(Shed, description="The queue takes no job now."),
            **problems(400, 403, 404, 411, 413, 415),
            (422, PROBLEM_JSON): OpenApiResponse(
                NEVER, description="The job never fits, or its idempotency key is another job's."
            ),
        },
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Give a job its place in the queue of its class, or say when to come back."""
        # Arguments have a bound of their own; all else is as large as in any other body.
        body = decode(JOB, read(request, conf.max_job_bytes() + conf.max_body_bytes()))
        try:
            job = services.enqueue(
                body.pool,
                body.workload_class,
                body.task,
                body.args,
                input_tokens=body.input_tokens,
                output_tokens=body.output_tokens,
                deadline_ms=body.deadline_ms,
                source=body.source,
                tags=body.tags,
                idempotency_key=key_of(request),
                caller=self.caller,
            )
        except services.Shed as shed:
            return refusal_response(shed.admission)
        return json_response(accepted_body(job), 202)


class JobDetailView(Endpoint):
    """One job."""

    @extend_schema(
        operation_id="job", parameters=[JOB_ID], responses={200: JobView, **problems(404)}
    )
    def get(self, request: HttpRequest, job_id: str) -> HttpResponse:
        """What became of a job: its state, attempts, result or error, and why."""
        return json_response(services.job(_id(job_id), self.caller))


class CancelJobView(Endpoint):
    """A job that nobody wants any more."""

    @extend_schema(
        operation_id="cancel_job",
        parameters=[JOB_ID],
        request=None,
        responses={200: JobView, **problems(404, 409)},
    )
    def post(self, request: HttpRequest, job_id: str) -> HttpResponse:
        """End a job: a queued one never starts, a running one's result is dropped."""
        return json_response(services.cancel_job(_id(job_id), self.caller))


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Problem(404, "No job has this id.") from None
