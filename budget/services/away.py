"""What callers decided by themselves while the service was away: taken in once, and shown."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from django.db import connection

from budget.client.verdict import Choice
from budget.ledger.errors import Forbidden, Implausible
from budget.ledger.operations import Caller, check_text, check_tokens, check_whole
from budget.rule.terms import PoolTerms
from budget.services.asking import existing_pool

CHOICES: tuple[Choice, ...] = ("admit", "shed", "local")

COUNTS = (
    "admitted",
    "shed",
    "input_tokens",
    "output_tokens",
    "estimated_input_tokens",
    "estimated_output_tokens",
)
MOST_REPORTS = 100
LONGEST_AGO_MS = 2_592_000_000
"""Thirty days."""


class AwayReport(msgspec.Struct, kw_only=True):
    """Calls of one class that one process decided on by one choice, while the service was away.

    Times are told as milliseconds ago: the caller's clock may be wrong.
    """

    report: UUID
    """Under one id it is counted once, however often it comes."""
    workload_class: str | None
    """A slug; None for untagged calls."""
    choice: Choice
    admitted: int
    shed: int
    input_tokens: int
    """Of the admitted calls."""
    output_tokens: int
    first_at_ms_ago: int
    last_at_ms_ago: int
    estimated_input_tokens: int = 0
    """Of the admitted calls before they were made, and what any used beyond."""
    estimated_output_tokens: int = 0


class AwayCalls(msgspec.Struct):
    """Calls of one class on a pool that callers decided on by one choice."""

    workload_class: str
    """Empty for untagged calls."""
    choice: Choice
    admitted: int
    shed: int
    tokens: int
    """Input and output, of the admitted ones."""
    first_at: datetime
    last_at: datetime


# In the order of their keys, so that nobody waits for each other in a circle. A class that the
# policy doesn't know is stored and counted as untagged, lest callers make up ever new classes.
TAKE_IN = """
WITH taken AS (
    INSERT INTO budget_awayreport (
        pool_id, report, workload_class, key_prefix, choice, admitted, shed, input_tokens,
        output_tokens, estimated_input_tokens, estimated_output_tokens, first_at, last_at,
        received_at
    )
    SELECT %(pool)s, report,
        CASE WHEN workload_class = ANY (%(classes)s) THEN workload_class ELSE '' END, %(key)s,
        choice, admitted, shed, input_tokens, output_tokens, estimated_input_tokens,
        estimated_output_tokens,
        now() - first_at_ms_ago * interval '1 ms',
        now() - last_at_ms_ago * interval '1 ms', now()
    FROM jsonb_to_recordset(%(reports)s::jsonb) AS r (
        report uuid, workload_class text, choice text, admitted bigint, shed bigint,
        input_tokens bigint, output_tokens bigint, estimated_input_tokens bigint,
        estimated_output_tokens bigint, first_at_ms_ago bigint, last_at_ms_ago bigint
    )
    ORDER BY report
    ON CONFLICT (report) DO NOTHING
    RETURNING *
)
INSERT INTO budget_awaytotal AS t (
    pool_id, workload_class, choice, admitted, shed, input_tokens, output_tokens
)
SELECT pool_id, workload_class, choice, sum(admitted), sum(shed), sum(input_tokens),
    sum(output_tokens)
FROM taken GROUP BY pool_id, workload_class, choice ORDER BY pool_id, workload_class, choice
ON CONFLICT (pool_id, workload_class, choice) DO UPDATE SET
    admitted = t.admitted + excluded.admitted,
    shed = t.shed + excluded.shed,
    input_tokens = t.input_tokens + excluded.input_tokens,
    output_tokens = t.output_tokens + excluded.output_tokens
"""

BETWEEN = """
SELECT workload_class, choice, sum(admitted)::bigint, sum(shed)::bigint,
    sum(input_tokens + output_tokens)::bigint, min(first_at), max(last_at)
FROM budget_awayreport
WHERE pool_id = %(pool)s AND last_at >= %(start)s AND first_at < %(end)s
GROUP BY workload_class, choice ORDER BY workload_class, choice
"""


def away_calls(pool: str, start: datetime, end: datetime) -> list[AwayCalls]:
    """What callers decided by themselves from `start` to before `end`, as reported since.

    By class and choice. A report counts whole if any of its time lies within. Raises UnknownPool.
    """
    with connection.cursor() as cursor:
        cursor.execute(BETWEEN, {"pool": existing_pool(pool), "start": start, "end": end})
        return [AwayCalls(*row) for row in cursor.fetchall()]


def take_in(pool_id: int, terms: PoolTerms, reports: Sequence[AwayReport], key_prefix: str) -> None:
    """Store reports that are new, and add them to the totals; the others change nothing.

    A report on a class that the policy doesn't know is one on untagged calls.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            TAKE_IN,
            {
                "pool": pool_id,
                "key": key_prefix,
                "classes": [member.slug for member in terms.classes],
                "reports": msgspec.json.encode(reports).decode(),
            },
        )


def check_reports(reports: Sequence[AwayReport], caller: Caller) -> None:
    """Refuses what cannot be right, with Implausible, and other keys' classes, with Forbidden."""
    if len(reports) > MOST_REPORTS:
        raise Implausible("away", f"has more than {MOST_REPORTS} reports.")
    for n, report in enumerate(reports):
        _check(report, f"away[{n}]")
        slug = report.workload_class
        if slug is not None and caller.classes is not None and slug not in caller.classes:
            raise Forbidden(f"This key may not use the workload class {slug!r}.")


def _check(report: AwayReport, place: str) -> None:
    if report.workload_class is not None:
        check_text(f"{place}.workload_class", report.workload_class, shortest=1)
    if report.choice not in CHOICES:
        raise Implausible(f"{place}.choice", f"must be one of {', '.join(CHOICES)}.")
    for name in COUNTS:
        check_tokens(f"{place}.{name}", getattr(report, name))
    for name in ("first_at_ms_ago", "last_at_ms_ago"):
        check_whole(f"{place}.{name}", getattr(report, name), 0, LONGEST_AGO_MS)
    if report.last_at_ms_ago > report.first_at_ms_ago:
        raise Implausible(
            f"{place}.last_at_ms_ago", "must not be longer ago than `first_at_ms_ago`."
        )
