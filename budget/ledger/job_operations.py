"""What is asked of the ledger about queued jobs, and what it answers."""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from budget.ledger.operations import IN_PROCESS, Admission, Caller, Outcome, Request
from budget.rule.terms import Tier

Ending = Literal["succeeded", "failed", "sent_away"]
"""How an attempt ended: `sent_away` if it never ran, or the provider refused it."""


class JobRequest(Request, kw_only=True):
    """A job that asks for a place in its class's queue."""

    workload_class: str
    task: str
    args: str
    """By name, as JSON text."""
    model: str | None = None
    """The model to run it on, if a batch endpoint takes it."""


class QueueView(msgspec.Struct, kw_only=True):
    """One class's queue on a pool, as a producer or a person looks at it."""

    paused: bool
    draining: bool
    state: str
    """`green`, `amber` or `red`."""
    order: str
    """`earliest_deadline` or `newest_first`."""
    depth: int
    """Jobs that wait."""
    tokens: int
    """Their estimates together."""
    running: int
    oldest_wait_seconds: float | None
    """None when nobody waits."""
    expected_wait_seconds: float | None
    """Until a job that comes now would be taken; None while nothing is taken."""
    taken_per_minute: float
    """Jobs begun, as of late, without those that were sent away."""
    waits_for: str | None
    """Why none is taken right now: the reason why the rule refuses the first, or, in words, that
    attempts were sent away, for which the jobs say why; None while nothing blocks."""


class Enqueued(msgspec.Struct, kw_only=True):
    """A job that has its place."""

    id: UUID
    state: str
    deadline: datetime
    position: int
    """Its place in the queue at the latest, 1 for the next; 0 once it is no longer queued."""
    queue: QueueView
    replayed: bool = False


class TakenJob(msgspec.Struct, kw_only=True):
    """A job to be run now, admitted and leased."""

    id: UUID
    call_id: UUID
    pool_id: int
    pool: str
    workload_class: str
    attempt: int
    deadline: datetime
    lease_expires: datetime
    task: str = ""
    args: str = "{}"


class Taken(msgspec.Struct, kw_only=True):
    """What a taking brought, and when it is worth trying again."""

    jobs: list[TakenJob]
    due: datetime | None
    """When there may next be a job to take; None while none waits."""


class Finished(msgspec.Struct, kw_only=True):
    """What became of a job whose attempt has ended."""

    id: UUID
    state: str
    accepted: bool
    """False if the attempt was no longer the job's own: its lease was over, or the job
    cancelled. Its tokens are accounted all the same."""


class Enqueue(msgspec.Struct, kw_only=True, eq=False):
    """Give a job a place, or refuse it."""

    id: UUID
    request: JobRequest
    caller: Caller = IN_PROCESS
    fingerprint: str = ""


class Take(msgspec.Struct, kw_only=True, eq=False):
    """Start jobs of some tiers: those that are next and that the rule admits."""

    id: UUID
    """Marks what it took, so that a lost reply can be looked up."""
    tiers: tuple[Tier, ...]
    most: int


class Collect(msgspec.Struct, kw_only=True, eq=False):
    """Start bulk jobs of one model that can wait for the batch endpoint."""

    id: UUID
    batch_id: UUID
    model: str
    most: int
    most_bytes: int
    """Of arguments together."""


class Finish(msgspec.Struct, kw_only=True, eq=False):
    """End an attempt at a job, and settle its call."""

    id: UUID
    """The job's."""
    call_id: UUID
    ending: Ending
    outcome: Outcome
    input_tokens: int | None = None
    """What the call used; None for the estimate, or nothing if it never left."""
    output_tokens: int | None = None
    cached_input_tokens: int = 0
    result: str | None = None
    """As JSON text."""
    error: str = ""
    rest_seconds: float | None = None
    """How long the job rests before its next attempt, and its class's whole queue if the provider
    sent it away; None for longer and longer."""
    final: bool = False
    """After `failed`: another attempt would fail too."""


def handed_back(job: TakenJob, error: str = "") -> Finish:
    """The ending of an attempt that never began: it counts for nothing, and is up for taking."""
    return Finish(
        id=job.id,
        call_id=job.call_id,
        ending="sent_away",
        outcome="cancelled",
        error=error,
        rest_seconds=0,
    )


class CancelJob(msgspec.Struct, kw_only=True, eq=False):
    """End a job that nobody wants any more."""

    id: UUID
    key_prefix: str = ""
    reason: str = ""
    """Why, for the record."""
    forget_key: bool = False
    """Nobody heard that it was enqueued: free its idempotency key, too."""


JobOperation = Enqueue | Take | Collect | Finish | CancelJob
JobAnswer = Enqueued | Admission | Taken | Finished
"""An Admission if the job was refused a place."""
