"""The columns that all tables of usage share, and how rows are added up in SQL."""

COUNTS = (
    "offered",
    "untagged",
    "admitted",
    "expired",
    "lease_expired",
    "offered_tokens",
    "estimated_tokens",
    "used_tokens",
    "refunded_tokens",
    "overrun_tokens",
    "corrected_tokens",
)
MEASURED = ("charged", "floor_tokens", "borrowed_tokens", "lent_tokens")
"""In units of the leading limit, and so only to be added up with those of the same."""
REASONS = ("shed", "would_shed")
PEAKS = ("queue_depth", "oldest_wait_seconds")

COLUMNS = ", ".join((*COUNTS, *MEASURED, *REASONS, *PEAKS))
TYPES = ", ".join(
    [f"{name} bigint" for name in (*COUNTS, *MEASURED)]
    + [f"{name} jsonb" for name in REASONS]
    + ["queue_depth bigint", "oldest_wait_seconds float"]
)


def _reasons_added_up(name: str) -> str:
    """The counts of two documents by reason, as one."""
    return f"""(
        SELECT coalesce(jsonb_object_agg(key, count), '{{}}') FROM (
            SELECT key, sum(value::bigint) AS count FROM (
                SELECT * FROM jsonb_each_text(u.{name})
                UNION ALL SELECT * FROM jsonb_each_text(excluded.{name})
            ) AS counts GROUP BY key
        ) AS reasons
    )"""


def _comparable(name: str) -> str:
    """An amount of the leading limit, without what stands of another one."""
    stands = f"CASE WHEN u.leading_limit = excluded.leading_limit THEN u.{name} ELSE 0 END"
    return f"excluded.{name} + {stands}"


# `u` is the row that stands, `excluded` the one that comes.
ADDED_UP = ", ".join(
    [f"{name} = u.{name} + excluded.{name}" for name in (*COUNTS, "minutes")]
    + [f"{name} = {_comparable(name)}" for name in (*MEASURED, "allowance")]
    + ["leading_limit = excluded.leading_limit"]
    + [f"{name} = {_reasons_added_up(name)}" for name in REASONS]
    + [f"{name} = greatest(u.{name}, excluded.{name})" for name in (*PEAKS, "minute")]
)
