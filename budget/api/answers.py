"""Decisions as callers get them."""

import math
from typing import cast

from django.http import HttpResponse
from msgspec import UNSET

from budget.api.problem import (
    ABOUT_BLANK,
    PROBLEM_JSON,
    QUOTA_EXCEEDED,
    json_response,
    title,
)
from budget.api.responses import Admitted, JobAccepted, Shed
from budget.ledger.job_operations import Enqueued
from budget.ledger.operations import Admission
from budget.rule.decision import Reason


def admitted_body(admission: Admission) -> Admitted:
    """The body of a 201."""
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


def shed_body(admission: Admission) -> Shed:
    """The body of a refusal, with the status it is sent under."""
    status = 422 if admission.reason == "never_fits" else 429
    return Shed(
        type=ABOUT_BLANK if status == 422 else QUOTA_EXCEEDED,
        title=title(status),
        status=status,
        detail=admission.detail,
        id=admission.id,
        reason=cast(Reason, admission.reason),
        limit=admission.limit,
        retryable=admission.retryable,
        retry_after_ms=admission.retry_after_ms,
        pool=admission.pool,
        workload_class=admission.workload_class,
        policy_version=admission.policy_version,
        depth=UNSET if admission.depth is None else admission.depth,
    )


def refusal_response(admission: Admission) -> HttpResponse:
    """A refusal as it is sent."""
    body = shed_body(admission)
    return unlogged(json_response(body, body.status, retry_headers(admission), PROBLEM_JSON))


def unlogged(response: HttpResponse) -> HttpResponse:
    """A refusal is an answer, not a fault: Django would log a warning for each one."""
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


def accepted_body(job: Enqueued) -> JobAccepted:
    """The body of a 202."""
    queue = job.queue
    return JobAccepted(
        id=job.id,
        state=job.state,  # type: ignore[arg-type]
        deadline=job.deadline,
        position=job.position,
        class_state=queue.state,  # type: ignore[arg-type]
        depth=queue.depth,
        oldest_wait_seconds=queue.oldest_wait_seconds,
        expected_wait_seconds=queue.expected_wait_seconds,
    )


def retry_headers(admission: Admission) -> dict[str, str]:
    """When to come back; nothing if coming back is of no use."""
    if not admission.retryable or admission.retry_after_ms is None:
        return {}
    milliseconds = max(1, admission.retry_after_ms)
    return {
        "Retry-After": str(math.ceil(milliseconds / 1000)),
        "retry-after-ms": str(milliseconds),
    }
