"""Forgets old calls, together with the states from which they could be re-run."""

from datetime import datetime

from django.db import connection

CHUNK = 10_000
"""Rows deleted per transaction, so that none holds back vacuum for long."""

OLD_CALLS = """
DELETE FROM budget_call WHERE id = ANY (ARRAY(
    SELECT id FROM budget_call WHERE offered_at < %s AND state <> 'open' LIMIT %s
))
"""

# The newest state of each pool is its balance and stays, however old.
OLD_STATES = """
DELETE FROM budget_poolstate AS old WHERE at < %s AND EXISTS (
    SELECT FROM budget_poolstate AS newer
    WHERE newer.pool_id = old.pool_id AND newer.seq > old.seq
)
"""


def prune(before: datetime) -> tuple[int, int]:
    """Delete calls offered and states left before a moment; how many of each.

    Open calls stay: their leases still end.
    """
    with connection.cursor() as cursor:
        calls = 0
        while True:
            cursor.execute(OLD_CALLS, (before, CHUNK))
            calls += cursor.rowcount
            if cursor.rowcount < CHUNK:
                break
        cursor.execute(OLD_STATES, (before,))
        return calls, cursor.rowcount
