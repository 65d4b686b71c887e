"""What callers send. Each description is shown in the schema and in the refusal of a bad value."""

from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from budget.client.verdict import Choice
from budget.ledger.operations import (
    MAX_DEADLINE_MS,
    MAX_EXTENSION_MS,
    MAX_KEY,
    MAX_TAG_NAME,
    MAX_TAGS,
    MAX_TEXT,
    MAX_TOKENS,
    Outcome,
)
from budget.providers.values import MOST
from budget.rule.terms import Unit
from budget.services.away import LONGEST_AGO_MS, MOST_REPORTS
from budget.services.observations import MAX_AGE_MS, MAX_WAIT_SECONDS

MAX_BATCH = 100

NO_NUL = r"^[^\u0000]*$"
SLUG = r"^[-a-zA-Z0-9_]+$"
PRINTABLE = r"^[ -~]+$"
PATTERNS = {
    NO_NUL: "Expected text without NUL characters",
    SLUG: "Expected ASCII letters, digits, hyphens and underscores only",
    PRINTABLE: "Expected printable ASCII characters only",
}
"""What each pattern asks for, in words."""

Slug = Annotated[str, Meta(min_length=1, max_length=50, pattern=SLUG)]
Milliseconds = Annotated[int, Meta(ge=1, le=MAX_DEADLINE_MS)]
TagName = Annotated[str, Meta(min_length=1, max_length=MAX_TAG_NAME, pattern=NO_NUL)]
TagText = Annotated[str, Meta(max_length=MAX_TEXT, pattern=NO_NUL)]


InputTokens = Annotated[
    int,
    Meta(
        ge=0,
        le=MAX_TOKENS,
        description="Tokens the call sends: whole, 0 to 1,000,000,000.",
        examples=[800],
    ),
]
OutputTokens = Annotated[
    int,
    Meta(
        ge=0,
        le=MAX_TOKENS,
        description="Tokens the call may get back: whole, 0 to 1,000,000,000.",
        examples=[200],
    ),
]
Deadline = Annotated[
    Milliseconds | None,
    Meta(
        description="Whole milliseconds from now in which the answer is worth having; "
        "may only shorten the deadline of the class.",
        examples=[4000],
    ),
]
Source = Annotated[
    str,
    Meta(
        max_length=MAX_TEXT,
        pattern=NO_NUL,
        description="Where in the caller's code the call comes from, up to 200 characters.",
        examples=["claims/views.py:57"],
    ),
]
Tags = Annotated[
    dict[TagName, TagText],
    Meta(
        max_length=MAX_TAGS,
        description="Up to 20 tags: names of 1 to 50, values of up to 200 characters.",
        examples=[{"tenant": "north"}],
    ),
]


class AdmissionBody(Struct, forbid_unknown_fields=True, kw_only=True):
    """A call that wants to be made."""

    pool: Annotated[
        Slug, Meta(description="Slug of the pool the call draws on.", examples=["claims"])
    ]
    workload_class: Annotated[
        Slug | None,
        Meta(
            description="Slug of the call's workload class; null if untagged.",
            examples=["adjuster"],
        ),
    ] = None
    input_tokens: InputTokens
    output_tokens: OutputTokens
    deadline_ms: Deadline = None
    source: Source = ""
    tags: Tags = {}


class BatchItem(AdmissionBody, forbid_unknown_fields=True, kw_only=True):
    """One call of a batch."""

    idempotency_key: Annotated[
        Annotated[str, Meta(min_length=1, max_length=MAX_KEY, pattern=PRINTABLE)] | None,
        Meta(description="As the Idempotency-Key header: up to 255 printable ASCII characters."),
    ] = None


Count = Meta(min_length=1, max_length=MAX_BATCH, description="1 to 100 calls.")


class BatchBody(Struct, forbid_unknown_fields=True):
    """Calls that are decided independently of each other."""

    admissions: Annotated[list[BatchItem], Count]


class RawBatch(Struct, forbid_unknown_fields=True):
    """A `BatchBody` whose items are still to be read, so that a bad one is refused alone."""

    admissions: Annotated[list[Raw], Count]


class SettleBody(Struct, forbid_unknown_fields=True, kw_only=True):
    """What a call really used."""

    outcome: Annotated[
        Outcome,
        Meta(
            description="How the call ended: succeeded, failed, cancelled (it never left) or "
            "rate_limited (the provider refused it); the last two refund everything."
        ),
    ]
    input_tokens: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_TOKENS)] | UnsetType,
        Meta(
            description="Input tokens used: whole, cached ones included; needed unless the call "
            "was cancelled or rate_limited."
        ),
    ] = UNSET
    output_tokens: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_TOKENS)] | UnsetType,
        Meta(
            description="Output tokens used: whole; needed unless the call was cancelled or "
            "rate_limited."
        ),
    ] = UNSET
    cached_input_tokens: Annotated[
        int, Meta(ge=0, le=MAX_TOKENS, description="Input tokens that came from a cache: whole.")
    ] = 0


class RenewBody(Struct, forbid_unknown_fields=True):
    """How much longer a call needs."""

    extend_ms: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_EXTENSION_MS,
            description="By how many whole milliseconds to extend the lease: 1 to 86,400,000.",
        ),
    ]


class JobBody(Struct, forbid_unknown_fields=True, kw_only=True):
    """Work that may wait its turn."""

    pool: Annotated[
        Slug, Meta(description="Slug of the pool the job's call draws on.", examples=["claims"])
    ]
    workload_class: Annotated[
        Slug,
        Meta(description="Slug of a near-line or bulk workload class.", examples=["rescore"]),
    ]
    task: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=MAX_TEXT,
            pattern=NO_NUL,
            description="Dotted name of a registered task.",
            examples=["claims.tasks.rescore"],
        ),
    ]
    args: Annotated[
        dict[str, Any],
        Meta(description="The task's arguments by name.", examples=[{"claim": 1207}]),
    ] = {}
    input_tokens: InputTokens
    output_tokens: OutputTokens
    deadline_ms: Deadline = None
    source: Source = ""
    tags: Tags = {}


AwayCount = Annotated[int, Meta(ge=0, le=MAX_TOKENS)]
MillisecondsAgo = Annotated[int, Meta(ge=0, le=LONGEST_AGO_MS)]


class AwayBody(Struct, forbid_unknown_fields=True, kw_only=True):
    """Calls of one class that the process decided on by one choice, while the service was away."""

    report: Annotated[
        UUID, Meta(description="A UUID of its own: the report is counted once, however often sent.")
    ]
    workload_class: Annotated[
        Slug | None,
        Meta(
            description="Slug of the calls' workload class; null if untagged. One that the policy "
            "doesn't know counts as untagged."
        ),
    ] = None
    choice: Annotated[Choice, Meta(description="What they were decided by: admit, shed or local.")]
    admitted: Annotated[AwayCount, Meta(description="Calls that were made: whole.")]
    shed: Annotated[AwayCount, Meta(description="Calls that were not: whole.")]
    input_tokens: Annotated[
        AwayCount, Meta(description="Input tokens of the calls that were made: whole.")
    ]
    output_tokens: Annotated[
        AwayCount, Meta(description="Output tokens of the calls that were made: whole.")
    ]
    first_at_ms_ago: Annotated[
        MillisecondsAgo,
        Meta(description="Whole milliseconds since the first of these calls, at most 30 days."),
    ]
    last_at_ms_ago: Annotated[
        MillisecondsAgo,
        Meta(description="Whole milliseconds since the last of these calls."),
    ]
    estimated_input_tokens: Annotated[
        AwayCount,
        Meta(
            description="Input tokens those calls were estimated at before they were made, and "
            "what any used beyond: many providers count by estimates. Whole."
        ),
    ] = 0
    estimated_output_tokens: Annotated[
        AwayCount, Meta(description="Output tokens, likewise: whole.")
    ] = 0


class CallerBody(Struct, forbid_unknown_fields=True, kw_only=True):
    """A process that calls, and what it decided while the service was away."""

    pool: Annotated[Slug, Meta(description="Slug of the pool that it calls.", examples=["claims"])]
    process: Annotated[
        UUID, Meta(description="A UUID that the process made for itself; a forked one another.")
    ]
    name: Annotated[
        str,
        Meta(
            max_length=MAX_TEXT,
            pattern=NO_NUL,
            description="What people know it by, up to 200 characters.",
            examples=["web-1:4711"],
        ),
    ] = ""
    leaving: Annotated[
        bool, Meta(description="Whether it calls no more: then it isn't counted from now on.")
    ] = False
    away: Annotated[
        list[AwayBody], Meta(max_length=MOST_REPORTS, description="Up to 100 reports.")
    ] = []


ProviderAmount = Annotated[int, Meta(ge=0, le=MOST)] | None
MostMilliseconds = Annotated[int, Meta(ge=0, le=1000 * MAX_WAIT_SECONDS)] | None


class SaidLimit(Struct, forbid_unknown_fields=True, kw_only=True):
    """One limit as the provider's headers tell it."""

    unit: Annotated[Unit, Meta(description="What it counts.", examples=["total_tokens"])]
    amount: Annotated[
        ProviderAmount, Meta(description="What is allowed in a period.", examples=[400_000])
    ] = None
    remaining: Annotated[ProviderAmount, Meta(description="What is left of it.")] = None
    reset_ms: Annotated[
        MostMilliseconds, Meta(description="Whole milliseconds until it is whole again.")
    ] = None


class ObservationBody(Struct, forbid_unknown_fields=True, kw_only=True):
    """What a provider's answer said of the account's limits."""

    pool: Annotated[
        Slug, Meta(description="Slug of the pool whose provider it is.", examples=["claims"])
    ]
    limits: Annotated[
        list[SaidLimit],
        Meta(max_length=4, description="What its headers say, at most one of each unit."),
    ] = []
    refusal: Annotated[
        Literal["busy", "money"] | None,
        Meta(
            description="Why the provider refused the call, if it did for all: busy (429, 529), or "
            "money (the account's spend cap is reached), which pauses the pool; it is taken for "
            "busy from a key that is bound to classes none of which is interactive."
        ),
    ] = None
    retry_after_ms: Annotated[
        MostMilliseconds,
        Meta(description="Whole milliseconds for which a busy provider asks to stay away."),
    ] = None
    age_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_AGE_MS,
            description="How long ago the provider said it, in whole milliseconds.",
        ),
    ] = 0
