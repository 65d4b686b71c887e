"""What callers ask of the ledger, and what they get back.

Amounts are whole tokens or requests. Charged, refunded and overrun amounts are given by
unit, for the units of the pool's limits, as the pool's provider counts them.
"""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Literal
from uuid import UUID

import msgspec

from budget.ledger.errors import Implausible
from budget.providers.standing import Standing

MAX_TOKENS = 1_000_000_000
MAX_TAGS = 20
MAX_TEXT = 200
"""Characters in a source or a tag's value."""
MAX_TAG_NAME = 50
MAX_KEY = 255
"""Characters in an idempotency key."""
MAX_EXTENSION_MS = 86_400_000
MAX_DEADLINE_MS = 604_800_000

Outcome = Literal["succeeded", "failed", "cancelled", "rate_limited"]

OUTCOMES: tuple[Outcome, ...] = ("succeeded", "failed", "cancelled", "rate_limited")

NEVER_LEFT = frozenset({"cancelled", "rate_limited"})
"""Outcomes after which the provider counted nothing."""


class Caller(msgspec.Struct, frozen=True):
    """Who asks: an API key with its rights, or code in this process."""

    key_prefix: str
    """Empty for code in this process, which may touch every call."""
    classes: frozenset[str] | None = None
    """Slugs it may use; None for all."""
    pools: frozenset[str] | None = None


IN_PROCESS = Caller("")


class Request(msgspec.Struct, kw_only=True):
    """What requests for calls and for jobs have in common."""

    pool: str
    workload_class: str | None
    """A slug; None for an untagged call."""
    input_tokens: int
    output_tokens: int
    deadline_ms: int | None = None
    """May only shorten the deadline of its class."""
    source: str = ""
    tags: dict[str, str] = {}
    idempotency_key: str | None = None

    @property
    def fingerprint(self) -> str:
        """Digest of everything but the key, to tell a repetition from a reused key.

        Stored, so that the order of the fields stays as it is.
        """
        content = [
            getattr(self, name) for name in self.__struct_fields__ if name != "idempotency_key"
        ]
        return sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()


class AdmissionRequest(Request, kw_only=True):
    """A call that asks to be admitted."""


class Admission(msgspec.Struct, kw_only=True):
    """The decision on one call."""

    id: UUID
    admitted: bool
    pool: str
    workload_class: str | None
    tier: str | None
    deadline: datetime
    lease_expires: datetime | None
    charged: dict[str, int]
    policy_version: int
    would_be: str | None = None
    """In observe mode: why enforcement would have shed it."""
    reason: str | None = None
    limit: str | None = None
    retryable: bool = False
    retry_after_ms: int | None = None
    detail: str = ""
    replayed: bool = False
    """Whether this is an earlier decision, asked for again under its idempotency key."""
    depth: int | None = None
    """Of the queue that refused a job; None for a call."""


class Settled(msgspec.Struct, kw_only=True):
    """A call's estimate replaced by what it used."""

    id: UUID
    outcome: str
    charged: dict[str, int]
    refunded: dict[str, int]
    overrun: dict[str, int]


class Renewed(msgspec.Struct, kw_only=True):
    """A lease that now lasts longer."""

    id: UUID
    lease_expires: datetime


class Admit(msgspec.Struct, kw_only=True, eq=False):
    """Decide on a call. The id is made before queueing, so that a lost reply can be looked up."""

    id: UUID
    request: AdmissionRequest
    caller: Caller = IN_PROCESS
    fingerprint: str = ""
    """The request's, if it has an idempotency key."""
    moved: UUID | None = None
    """Where an earlier refusal of the call moved in a transaction of unknown fate."""


class Settle(msgspec.Struct, kw_only=True, eq=False):
    """Replace a call's estimate by what it used."""

    id: UUID
    outcome: Outcome
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    key_prefix: str = ""
    forget_key: bool = False
    """Nobody heard of the call's admission: free its idempotency key, too."""
    curbed: bool = False
    """Settle at the most the call could have used rather than refuse to settle."""


class Renew(msgspec.Struct, kw_only=True, eq=False):
    """Let a lease last longer."""

    id: UUID
    extend_ms: int
    key_prefix: str = ""
    wanted: int | None = None
    """The end asked for in a transaction of unknown fate, in microseconds since the epoch."""


class RenewMany(msgspec.Struct, kw_only=True, eq=False):
    """Let the leases of many calls last until one moment at least; ended ones are left alone."""

    id: UUID
    calls: Sequence[UUID]
    until: int
    """In microseconds since the epoch."""


class Observe(msgspec.Struct, kw_only=True, eq=False):
    """Hold what a provider said of its limits against the balances."""

    id: UUID
    pool: str
    """Its slug."""
    standing: Standing
    age_ms: int = 0
    """How long ago the provider said it."""
    key_prefix: str = ""
    classes: frozenset[str] | None = None
    """Those that whoever tells it may use; None for all."""
    said_at: int | None = None
    """When, in microseconds since the epoch, once the ledger has looked at its clock."""


class Observed(msgspec.Struct, kw_only=True):
    """What became of what a provider said."""

    pool: str
    leaked: dict[str, int]
    """By unit: what was used at the provider and never came through us, as was found now."""
    backoff: dict[str, datetime]
    """By class: until when the provider wants none of its calls."""
    paused: bool
    """Whether the pool is."""


class Excuse(msgspec.Struct, kw_only=True, eq=False):
    """Take in the stored reports of what callers used by themselves while the service was away."""

    id: UUID


class Excused(msgspec.Struct, kw_only=True):
    """How many reports were taken in that had not been before."""

    reports: int


class RenewedMany(msgspec.Struct, kw_only=True):
    """How many leases last that long now."""

    leases: int


def check_request(request: Request) -> None:
    """Refuses, with Implausible, what no call or job can mean and no database could store."""
    check_text("pool", request.pool)
    if request.workload_class is not None:
        check_text("workload_class", request.workload_class)
    check_tokens("input_tokens", request.input_tokens)
    check_tokens("output_tokens", request.output_tokens)
    if request.deadline_ms is not None:
        check_whole("deadline_ms", request.deadline_ms, 1, MAX_DEADLINE_MS)
    check_text("source", request.source)
    if request.idempotency_key is not None:
        check_text("idempotency_key", request.idempotency_key, MAX_KEY, shortest=1)
    if request.tags:
        _check_tags(request.tags)


def check_tokens(field: str, amount: int) -> None:
    """Refuses anything but a whole number of tokens that a provider could count."""
    check_whole(field, amount, 0, MAX_TOKENS)


def check_whole(field: str, number: int, least: int, most: int) -> None:
    """Refuses anything but a whole number within bounds."""
    if type(number) is not int:
        raise Implausible(field, "must be a whole number.")
    if not least <= number <= most:
        raise Implausible(field, f"must lie between {least:,} and {most:,}.")


def check_text(field: str, text: str, longest: int = MAX_TEXT, shortest: int = 0) -> None:
    """Refuses text that is too long or too short, or that PostgreSQL cannot store."""
    if type(text) is not str:
        raise Implausible(field, "must be text.")
    if not shortest <= len(text) <= longest:
        raise Implausible(field, f"must have {shortest} to {longest} characters.")
    if not text.isascii() or not text.isprintable():
        _check_storable(field, text)


def _check_tags(tags: dict[str, str]) -> None:
    if not isinstance(tags, dict):
        raise Implausible("tags", "must be a dictionary.")
    if len(tags) > MAX_TAGS:
        raise Implausible("tags", f"has more than {MAX_TAGS} entries.")
    for name, value in tags.items():
        check_text("tags", name, MAX_TAG_NAME, shortest=1)
        check_text("tags", value)


def _check_storable(field: str, text: str) -> None:
    if "\0" in text:
        raise Implausible(field, "contains a NUL character.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Implausible(field, "contains half of a surrogate pair.") from None
