"""Rows of jobs, as a transaction reads and writes them; moments as in `budget.ledger.rows`."""

from typing import Any
from uuid import UUID

import msgspec

from budget.ledger.clock import moment

LONGEST_TRAIL = 40
"""Steps of a trail from which on none but a job's end is added, and attempts that were lost."""
LOST = "lease_expired"
"""The step of an attempt that never reported back."""


class Step(msgspec.Struct):
    """One step of a job's trail."""

    at: str
    event: str
    detail: str


class StoredJob(msgspec.Struct):
    """What a transaction reads of a job; fields in the order of `job_queries.JOB_COLUMNS`.

    What attempts change has the value it has before any.
    """

    id: UUID
    workload_class: str
    key_prefix: str
    idempotency_key: str | None
    fingerprint: str
    batchable: bool
    input_tokens: int
    output_tokens: int
    source: str
    tags: dict[str, str]
    enqueued_at: int
    deadline: int
    state: str = "queued"
    not_before: int | None = None
    attempts: int = 0
    call_id: UUID | None = None
    taking_id: UUID | None = None
    batch_id: UUID | None = None
    started_at: int | None = None
    finished_at: int | None = None
    error: str = ""
    size: int = 0
    """Of its arguments, in bytes."""
    length: int = 0
    """Steps its trail has."""
    heard: bool = False
    """Whether its place was told more than once."""
    lost: bool = False
    """Whether an attempt never reported back."""
    result: str | None = None
    """Only as it is written."""
    steps: list[Step] = []
    """What its trail gains."""

    @property
    def tokens(self) -> int:
        """The estimate, input plus output."""
        return self.input_tokens + self.output_tokens

    def note(self, at: int, event: str, detail: str = "") -> None:
        """Add a step to the trail, unless it has many; see `LONGEST_TRAIL`."""
        if self.length >= LONGEST_TRAIL and self.finished_at is None and event != LOST:
            return
        self.steps.append(Step(moment(at).isoformat(), event, detail))
        self.length += 1

    def changes(self) -> dict[str, Any]:
        """The fields that an attempt changes, as columns."""
        names = (
            "id",
            "state",
            "batchable",
            "not_before",
            "attempts",
            "call_id",
            "taking_id",
            "batch_id",
            "started_at",
            "finished_at",
            "error",
            "result",
            "steps",
        )
        return {name: getattr(self, name) for name in names}


class NewJob(msgspec.Struct, kw_only=True):
    """A job to insert; what an attempt changes keeps its default."""

    id: UUID
    workload_class: str
    key_prefix: str
    idempotency_key: str | None
    fingerprint: str
    task: str
    args: str
    batchable: bool
    model: str
    input_tokens: int
    output_tokens: int
    source: str
    tags: dict[str, str]
    enqueued_at: int
    deadline: int

    def stored(self) -> StoredJob:
        """The same as it is read once it is there."""
        return StoredJob(
            id=self.id,
            workload_class=self.workload_class,
            key_prefix=self.key_prefix,
            idempotency_key=self.idempotency_key,
            fingerprint=self.fingerprint,
            batchable=self.batchable,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            source=self.source,
            tags=self.tags,
            enqueued_at=self.enqueued_at,
            deadline=self.deadline,
            size=len(self.args.encode()),
        )
