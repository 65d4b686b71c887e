"""Rows of the ledger's tables, as a transaction reads and writes them.

Moments are microseconds since the epoch. Written rows travel as one JSON document per
table, so a field's name is the name of its column in `budget.ledger.queries`.
"""

import logging
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from budget.ledger.job_rows import NewJob, StoredJob
from budget.ledger.tally import ClassTally
from budget.rule.decision import Charge
from budget.rule.dequeue import Queue
from budget.rule.observe import Reading
from budget.rule.pool import Settlement
from budget.rule.terms import SECOND, PoolTerms

logger = logging.getLogger(__name__)

_CHARGES = msgspec.json.Decoder(list[Charge])


class StoredCall(msgspec.Struct):
    """What a transaction reads of a call; fields in the order of `queries.CALL_COLUMNS`."""

    id: UUID
    key_prefix: str
    idempotency_key: str | None
    fingerprint: str
    workload_class: str
    policy_version: int
    seq: int
    offered_at: int
    deadline: int
    input_tokens: int
    output_tokens: int
    state: str
    reason: str
    limit: str
    retry_after_ms: int | None
    detail: str
    charges_json: str
    lease_expires: int | None
    lapsed: bool
    heard: bool
    """Whether its decision was told more than once."""
    outcome: str
    used_input_tokens: int | None
    used_output_tokens: int | None
    used_cached_input_tokens: int | None
    refunded: dict[str, int]
    overrun: dict[str, int]
    job_id: UUID | None
    of_batch: bool

    @property
    def charges(self) -> list[Charge]:
        """What each limit was charged; nothing if another version of the rule wrote it."""
        try:
            return _CHARGES.decode(self.charges_json)
        except msgspec.ValidationError as error:
            logger.warning("The charges of call %s are in another format: %s", self.id, error)
            return []

    @property
    def settlement(self) -> Settlement:
        """What its settlement changed, by unit."""
        return Settlement(self.refunded, self.overrun)

    @property
    def tokens(self) -> int:
        """The estimate, input plus output."""
        return self.input_tokens + self.output_tokens


def json_text(value: Any) -> str:
    """A value as JSON, for a parameter of the ledger's SQL."""
    return msgspec.json.encode(value).decode()


class DecidedCall(msgspec.Struct, kw_only=True):
    """A decision to insert."""

    id: UUID
    workload_class: str
    untagged: bool = False
    key_prefix: str
    idempotency_key: str | None = None
    fingerprint: str = ""
    input_tokens: int
    output_tokens: int
    source: str
    tags: dict[str, str]
    deadline: int
    position: int
    state: str
    reason: str
    limit: str
    retry_after_ms: int | None = None
    detail: str = ""
    arithmetic: str = "[]"
    charges: str = "[]"
    """Both JSON as text: cheaper for the database to take in than as part of the document."""
    lease_expires: int | None = None
    job_id: UUID | None = None
    of_batch: bool = False


class SettledCall(msgspec.Struct, kw_only=True):
    """A settlement to note on its call."""

    id: UUID
    outcome: str
    used_input_tokens: int
    used_output_tokens: int
    used_cached_input_tokens: int
    refunded: dict[str, int]
    overrun: dict[str, int]
    position: int
    forget_key: bool


class RenewedCall(msgspec.Struct):
    """A lease's new end."""

    id: UUID
    lease_expires: int


class RetriedCall(msgspec.Struct):
    """An earlier refusal that leaves its id to the call's next decision."""

    id: UUID
    new_id: UUID


class Waiting(NamedTuple):
    """What waits in a queue."""

    queue_depth: int | None = None
    oldest_wait_seconds: float | None = None


NO_QUEUE = Waiting()


class ClosedMinute(NamedTuple):
    """The tallies of a minute that is over, by class, and what waited at its end."""

    start: int
    leading: str
    """Name of the limit that usage is measured on; empty without any."""
    allowance: int
    classes: dict[str, ClassTally]
    waiting: dict[str, Waiting]

    def documents(self) -> list[dict[str, Any]]:
        """One document per class."""
        return [
            {
                "workload_class": slug,
                **msgspec.structs.asdict(tally),
                "floor_tokens": round(tally.floor_tokens),
                "borrowed_tokens": round(tally.borrowed_tokens),
                "lent_tokens": round(tally.lent_tokens),
                **self.waiting.get(slug, NO_QUEUE)._asdict(),
            }
            for slug, tally in self.classes.items()
        ]


def at_end_of(queue: Queue, end: int) -> Waiting:
    """What waits in a queue at a moment that is past, but after which nothing happened yet."""
    oldest = max(0, end - queue.oldest) / SECOND if queue.depth and queue.oldest else None
    return Waiting(queue.depth, oldest)


class NewRevision(NamedTuple):
    """Terms the balances were not under before."""

    terms: PoolTerms
    changed_at: int


class NewObservation(msgspec.Struct, kw_only=True):
    """Something a provider said that changed what is left, to insert."""

    id: UUID
    position: int
    key_prefix: str
    strictest: str
    refusal: str
    wait_seconds: float | None
    said_at: int
    readings: list[Reading]
    tolerance: float
    leaked: dict[str, int]
    backoff: dict[str, int]


class StoredReport(NamedTuple):
    """What is read of a report of calls that were made while the service was away."""

    id: int
    admitted: int
    input_tokens: int
    """Used, or estimated if that is more; output likewise."""
    output_tokens: int
    first_at: int
    last_at: int


class ExcusedReport(msgspec.Struct):
    """A report's place in the order of the batch that took it in."""

    id: int
    position: int


class SeenLimit(msgspec.Struct, kw_only=True):
    """One of the provider's limits as it was last told."""

    unit: str
    amount: int | None
    remaining: int | None
    per_seconds: int
    reset_seconds: float | None
    seen_at: int
    key_prefix: str


class Changes(msgspec.Struct):
    """Everything one transaction writes apart from the state itself."""

    decided: list[DecidedCall] = []
    settled: list[SettledCall] = []
    renewed: list[RenewedCall] = []
    retried: list[RetriedCall] = []
    forgotten: list[UUID] = []
    """Calls whose idempotency key is too old to count."""
    heard: list[UUID] = []
    """Admitted calls whose decision was told once more."""
    lapsed: list[UUID] = []
    """Calls whose lease ended without a settlement."""
    enqueued: list[NewJob] = []
    jobs: dict[UUID, StoredJob] = {}
    """Jobs that changed, new ones too."""
    forgotten_jobs: list[UUID] = []
    """Jobs whose idempotency key no longer counts."""
    queues_changed: bool = False
    observed: list[NewObservation] = []
    excused: list[ExcusedReport] = []
    seen: dict[str, SeenLimit] = {}
    """By unit."""
    closed: ClosedMinute | None = None
    revision: NewRevision | None = None

    @property
    def balances_changed(self) -> bool:
        """Whether the state after the batch differs from the one before in more than time."""
        return bool(
            self.levels_changed
            or self.closed
            or self.enqueued
            or self.jobs
            or self.forgotten_jobs
            or self.queues_changed
        )

    @property
    def levels_changed(self) -> bool:
        """Whether something happened that changes what is left of limits, or may."""
        return bool(
            self.decided
            or self.settled
            or self.lapsed
            or self.revision
            or self.observed
            or self.excused
        )
