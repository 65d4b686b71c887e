"""What is asked of the budget about one call, what it says, and how the call ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from budget.providers.tokens import Tokens

Outcome = Literal["succeeded", "failed", "cancelled", "rate_limited"]
"""`cancelled`: it never left. `rate_limited`: the provider refused it. Both are given back whole;
after `failed` what it used still counts."""

Choice = Literal["admit", "shed", "local"]
"""What a class's calls do while the service is away: all go, none goes, or as many as a share of
the class's floor allows that each process keeps for itself."""


NOTHING = Tokens(0, 0)


@dataclass(frozen=True, slots=True)
class Ask:
    """A call that wants to be made. `services.AdmissionRequest`, as a caller knows it."""

    pool: str
    workload_class: str | None
    """A slug; None if untagged."""
    input_tokens: int
    output_tokens: int
    deadline_ms: int | None = None
    """Milliseconds that are left for it, 0 if they are over; None for the class's own deadline."""
    source: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    key: str | None = None
    """Idempotency key: asked again under it, a refused call keeps its place."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The call may be made; settle it once it has ended."""

    id: str | None
    """The admission's; None if it was admitted while the service was away."""
    ask: Ask
    lease_seconds: float | None = None
    """For how long it counts as under way unless it is renewed."""
    away: Choice | None = None
    """By which choice it was admitted while the service was away."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The call may not be made now."""

    ask: Ask
    status: int
    """429; 422 if it never fits. 401, 403, 404 and the like: this caller or its request is wrong,
    and `reason` is empty."""
    reason: str
    """As in the service's closed set; `away` if the service is, and the class is shed then."""
    detail: str
    """In words, for people."""
    retry_after_ms: int | None = None
    """When to come back; None if that is of no use."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """What the service said in full."""


Verdict = Admitted | Refused


@dataclass(frozen=True, slots=True)
class Ending:
    """How an admitted call ended."""

    outcome: Outcome
    used: Tokens = NOTHING
