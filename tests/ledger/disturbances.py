"""What is done to the ledger from outside, to see how it takes it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from django.db import connections

from budget.models import Pool

LEDGER_SESSIONS = """
SELECT pid FROM pg_stat_activity
WHERE application_name = 'budget-ledger' AND datname = current_database()
"""


def bystander() -> psycopg.Connection:
    """A session that has nothing to do with the ledger."""
    params = connections["default"].get_connection_params()
    return psycopg.connect(**params, autocommit=True)


@contextmanager
def lock_held(pool: Pool) -> Iterator[psycopg.Connection]:
    """Somebody else holds the pool's lock."""
    with bystander() as other:
        other.execute("BEGIN")
        other.execute("SELECT FROM budget_poollock WHERE pool_id = %s FOR UPDATE", (pool.pk,))
        yield other
        other.execute("ROLLBACK")


def terminate_ledger_connections(other: psycopg.Connection) -> int:
    """End every session of the ledger, as an operator or a failing network would."""
    query = f"SELECT pg_terminate_backend(pid) FROM ({LEDGER_SESSIONS}) AS sessions"
    return other.execute(query).rowcount


def eventually(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether it comes true in time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
