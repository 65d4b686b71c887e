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
    depth: Annotated[
        int | UnsetType, Meta(description="Only of a refused job: how many wait in its queue.")
    ] = UNSET


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


class BatchLimitView(Struct):
    """One limit of the batch endpoint and what is left of it; it has no floors."""

    unit: str
    algorithm: str
    amount: int
    capacity: float
    available: float


QueueState = Annotated[
    Literal["green", "amber", "red"],
    Meta(description="Whether to send more jobs, to slow down, or to stop."),
]
Depth = Annotated[int, Meta(description="Jobs that wait.")]
OldestWait = Annotated[float | None, Meta(description="Null when nobody waits.")]
ExpectedWait = Annotated[
    float | None,
    Meta(description="Until a job that comes now would be run; null while none is."),
]


class ClassView(Struct):
    """How a class stands on the pool, with its queue of jobs."""

    paused: bool
    draining: Annotated[bool, Meta(description="Takes no new jobs; those that wait are run.")]
    state: QueueState
    order: Literal["earliest_deadline", "newest_first"]
    depth: Depth
    tokens: Annotated[int, Meta(description="Estimates of the jobs that wait, together.")]
    running: int
    oldest_wait_seconds: OldestWait
    expected_wait_seconds: ExpectedWait
    taken_per_minute: Annotated[float, Meta(description="Jobs begun, as of late.")]
    waits_for: Annotated[
        str | None, Meta(description="Why none is taken right now; null while nothing blocks.")
    ]
    backoff_until: Annotated[
        datetime | None,
        Meta(description="Until when a busy provider is left alone; null while it isn't."),
    ]


class PoolView(Struct):
    """A pool, its limits and its classes."""

    slug: str
    mode: Literal["enforce", "observe"]
    paused: bool
    spend_cap_reached: Annotated[
        bool, Meta(description="Whether it is paused because the provider says so.")
    ]
    policy_version: int
    limits: list[LimitView]
    batch_limits: Annotated[
        list[BatchLimitView], Meta(description="Of the batch endpoint; empty without one.")
    ]
    classes: dict[str, ClassView]


JobState = Literal["queued", "running", "succeeded", "failed", "expired", "cancelled"]


class JobAccepted(Struct, kw_only=True):
    """The job has its place; how its queue stands says whether to send more."""

    id: UUID
    state: JobState
    deadline: datetime
    position: Annotated[
        int,
        Meta(
            description="Its place in the queue at the latest, by how many wait, 1 for the next; "
            "0 once it has left the queue."
        ),
    ]
    class_state: QueueState
    depth: Depth
    oldest_wait_seconds: OldestWait
    expected_wait_seconds: ExpectedWait


class JobStep(Struct):
    """Something that was decided about a job."""

    at: datetime
    event: str
    detail: str


class JobView(Struct):
    """A job, what became of it, and why."""

    id: UUID
    state: JobState
    pool: str
    workload_class: str
    task: str
    args: Annotated[dict[str, Any], Meta(description="As they were sent.")]
    input_tokens: int
    output_tokens: int
    source: str
    tags: dict[str, str]
    enqueued_at: datetime
    deadline: datetime
    not_before: Annotated[
        datetime | None, Meta(description="Until when a queued job rests after an attempt.")
    ]
    attempts: Annotated[int, Meta(description="Those that count: not those that never left.")]
    call_id: Annotated[UUID | None, Meta(description="The admission of its latest attempt.")]
    batch_id: UUID | None
    started_at: datetime | None
    finished_at: datetime | None
    result: Annotated[Any, Meta(description="What the task returned; null until then.")]
    error: Annotated[
        str | None, Meta(description="Why it failed or expired, or its last attempt did.")
    ]
    trail: Annotated[list[JobStep], Meta(description="What was decided about it, oldest first.")]


class UsageMinute(Struct):
    """What one class did in one minute."""

    minute: datetime
    workload_class: Annotated[
        str, Meta(description="Empty for calls that named no class and were shed.")
    ]
    offered: int
    untagged: Annotated[int, Meta(description="How many of them named no class.")]
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
