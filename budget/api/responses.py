"""What callers get back, as typed bodies; they are the response schemas too."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from budget.rule.decision import Reason

Amounts = Annotated[dict[str, int], Meta(description="Tokens or requests by unit.")]


class ProblemBody(Struct, kw_only=True):
    """RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: Annotated[str, Meta(description="What is wrong, and what to change.")]
    field: Annotated[
        str | UnsetType, Meta(description="Path of the refused field of the request.")
    ] = UNSET
    retry_after_ms: Annotated[
        int | UnsetType, Meta(description="When to try again, if the fault is not the caller's.")
    ] = UNSET


class Admitted(Struct, kw_only=True):
    """The call may be made now; its estimate is charged until it is settled."""

    id: UUID
    decision: Literal["admitted"] = "admitted"
    pool: str
    workload_class: str | None
    tier: str | None
    deadline: datetime
    lease_expires: Annotated[
        datetime | None, Meta(description="When an unsettled call counts as over.")
    ]
    charged: Amounts
    policy_version: int
    would_be: Annotated[
        str | UnsetType,
        Meta(description="Only in observe mode: the reason it would have been shed for."),
    ] = UNSET


class Shed(Struct, kw_only=True):
    """The call may not be made now: problem details with the reason and the earliest retry."""

    type: str
    title: str
    status: int
    detail: Annotated[str, Meta(description="The reason in words, with its numbers.")]
    id: UUID
    decision: Literal["shed"] = "shed"
    reason: Reason
    limit: Annotated[str | None, Meta(description="The refusing limit, as unit/algorithm.")]
    retryable: bool
    retry_after_ms: int | None
    pool: str
    workload_class: str | None
    policy_version: int


BATCH_RESULT = {
    "type": "object",
    "properties": {"status": {"type": "integer", "description": "As of the single request."}},
    "required": ["status"],
    "anyOf": [
        {"$ref": f"#/components/schemas/{body.__name__}"} for body in (Admitted, Shed, ProblemBody)
    ],
}


class BatchResults(Struct):
    """One result per call, in the order of the request."""

    results: list[Annotated[dict[str, Any], Meta(extra_json_schema=BATCH_RESULT)]]


class StandingView(Struct):
    """The numbers of one limit at the decision, in the limit's units."""

    limit: Annotated[str, Meta(description="As unit/algorithm.")]
    cost: int
    available: float
    own_floor: float
    protected: Annotated[dict[str, float], Meta(description="What is kept for each other class.")]
    headroom: float
    free: Annotated[float, Meta(description="What is available less all that is protected.")]
    interactive_floors_spent: float
    ceiling_left: float | None


class CallUsage(Struct):
    """What a settled call used."""

    outcome: str
    input_tokens: int | None
    output_tokens: int | None
    cached_input_tokens: int | None
    refunded: Amounts
    overrun: Amounts
    settled_at: datetime


class CallView(Struct):
    """A decision with its arithmetic, and what became of the call."""

    id: UUID
    decision: Literal["admitted", "shed"]
    pool: str
    workload_class: str | None
    tier: str | None
    source: str
    tags: dict[str, str]
    input_tokens: int
    output_tokens: int
    offered_at: datetime
    deadline: datetime
    lease_expires: datetime | None
    charged: Amounts
    policy_version: int
    would_be: Reason | None
    reason: Reason | None
    limit: str | None
    retryable: bool
    retry_after_ms: int | None
    detail: str
    limits: list[StandingView]
    state: Literal["open", "settled", "lease_expired", "shed"]
    usage: CallUsage | None


class FloorView(Struct):
    """A class's floor on one limit, in the limit's units."""

    share_percent: float
    unspent: float
    effective: float


class LimitView(Struct):
    """One limit and what is left of it."""

    unit: str
    algorithm: str
    amount: int
    capacity: float
    available: float
    floors: dict[str, FloorView]


class ClassView(Struct):
    """How a class stands on the pool."""

    paused: bool
    state: Literal["green", "amber", "red"]
    depth: int
    oldest_wait_seconds: float | None
    expected_wait_seconds: float | None


class PoolView(Struct):
    """A pool, its limits and its classes."""

    slug: str
    mode: Literal["enforce", "observe"]
    paused: bool
    policy_version: int
    limits: list[LimitView]
    classes: dict[str, ClassView]


class UsageMinute(Struct):
    """What one class did in one minute."""

    minute: datetime
    workload_class: Annotated[
        str, Meta(description="Empty for calls that named no class and were shed.")
    ]
    offered: int
    admitted: int
    shed: Annotated[dict[str, int], Meta(description="Refused calls by reason.")]
    would_shed: Annotated[
        dict[str, int], Meta(description="Calls by the reason that only observe mode let pass.")
    ]
    expired: int
    estimated_tokens: int
    used_tokens: int
    utilisation_percent: Annotated[
        float | None,
        Meta(
            description="What the class took of the pool's leading limit, net of refunds; 0 where "
            "refunds of earlier minutes' calls outweigh it, null without such a limit."
        ),
    ]
    shed_rate: float | None


class Usage(Struct):
    """Minutes in order, the open one included."""

    minutes: list[UsageMinute]
