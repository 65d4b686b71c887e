"""Forgets processes that are no longer heard of, and old reports of what they decided alone."""

from datetime import datetime

from django.db import connection

# What they add up to stays, in a table of its own. One that the ledger took in later stays as
# long: states of that time can only be re-run with it.
FORGET_REPORTS = """
DELETE FROM budget_awayreport
WHERE received_at < %(before)s AND (at IS NULL OR at < %(before)s)
    AND pool_id = coalesce(%(pool)s, pool_id)
"""
FORGET_PROCESSES = """
DELETE FROM budget_callerprocess
WHERE seen_at < now() - interval '1 day' AND pool_id = coalesce(%(pool)s, pool_id)
"""


def prune_callers(before: datetime, pool_id: int | None) -> None:
    """Delete reports that came before a moment, and processes not heard of for a day."""
    with connection.cursor() as cursor:
        for statement in (FORGET_REPORTS, FORGET_PROCESSES):
            cursor.execute(statement, {"before": before, "pool": pool_id})
