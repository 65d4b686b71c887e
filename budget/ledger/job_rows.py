"""Rows of jobs, as a transaction reads and writes them; moments as in `budget.ledger.rows`."""

from typing import Any
from uuid import UUID

import msgspec

from budget.ledger.clock import moment

LONGEST_TRAIL = 40
"""Steps of a trail from which on none but a job's end is added."""


class Step(msgspec.Struct):
    """One step of a job's trail."""

    at: str
    event: str
    detail: str


class StoredJob(msgspec.Struct):
    """What a transaction reads of a job; fields in the order of `job_queries.JOB_COLUMNS`."""

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
    state: str
    not_before: int | None
    attempts: int
    call_id: UUID | None
    taking_id: UUID | None
    batch_id: UUID | None
    started_at: int | None
    finished_at: int | None
    error: str
    size: int
    """Of its arguments, in bytes."""
    length: int
    """Steps its trail has."""
    heard: bool
    """Whether its place was told more than once."""
    result: str | None = None
    """Only as it is written."""
    steps: list[Step] = []
    """What its trail gains."""

    @property
    def tokens(self) -> int:
        """The estimate, input plus output."""
        return self.input_tokens + self.output_tokens

    def note(self, at: int, event: str, detail: str = "") -> None:
        """Add a step to the trail, unless it has many; the end of the job always."""
        if self.length >= LONGEST_TRAIL and self.finished_at is None:
            return
        self.steps.append(Step(moment(at).isoformat(), event, detail))
        self.length += 1

    def changes(self) -> dict[str, Any]:
        """The fields that an attempt changes, as columns."""
        names = (
            "id",
            "state",
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
