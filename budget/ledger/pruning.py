"""Forgets old calls, jobs, batches and observations, and the states to re-run calls from."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from budget.ledger.caller_pruning import prune_callers
from budget.ledger.clock import micros
from budget.ledger.ids import lowest_id

CHUNK = 10_000
"""Rows looked at per transaction, so that none holds back vacuum for long."""
FEWEST_DAYS = 2
"""Calls are kept for longer than an idempotency key counts."""

# Ids rise with time: the primary key finds the old ones. What happened later to an old call
# keeps it, since kept states of that time can only be re-run with it.
CALLS = """
SELECT id, greatest(offered_at, settled_at, lapsed_at) < %(before)s
    AND (state <> 'open' OR lease_expires IS NULL
        OR NOT EXISTS (SELECT FROM budget_pool p WHERE p.id = c.pool_id))
FROM budget_call c WHERE id > %(after)s AND id < %(end)s
    AND pool_id = coalesce(%(pool)s, pool_id) ORDER BY id LIMIT %(most)s
"""
# The record of a job goes with its calls; what still waits on a pool that is gone goes, too.
JOBS = """
SELECT id, coalesce(finished_at, enqueued_at) < %(before)s
    AND (finished_at IS NOT NULL
        OR NOT EXISTS (SELECT FROM budget_pool p WHERE p.id = j.pool_id))
FROM budget_job j WHERE id > %(after)s AND id < %(end)s
    AND pool_id = coalesce(%(pool)s, pool_id) ORDER BY id LIMIT %(most)s
"""
BATCHES = """
SELECT id, coalesce(finished_at, created_at) < %(before)s
    AND (finished_at IS NOT NULL
        OR NOT EXISTS (SELECT FROM budget_pool p WHERE p.id = b.pool_id))
FROM budget_jobbatch b WHERE id > %(after)s AND id < %(end)s
    AND pool_id = coalesce(%(pool)s, pool_id) ORDER BY id LIMIT %(most)s
"""
OBSERVATIONS = """
SELECT id, at < %(before)s
FROM budget_observation WHERE id > %(after)s AND id < %(end)s
    AND pool_id = coalesce(%(pool)s, pool_id) ORDER BY id LIMIT %(most)s
"""
DELETE_OBSERVATIONS = "DELETE FROM budget_observation WHERE id = ANY (%s)"
DELETE_JOBS = "DELETE FROM budget_job WHERE id = ANY (%s)"
DELETE_BATCHES = "DELETE FROM budget_jobbatch WHERE id = ANY (%s)"
DELETE_CALLS = "DELETE FROM budget_call WHERE id = ANY (%s)"

# One step through the index per pool, deleted ones included.
POOLS = """
WITH RECURSIVE pools AS (
    SELECT min(pool_id) AS id FROM budget_poolstate
    UNION ALL
    SELECT (SELECT min(pool_id) FROM budget_poolstate WHERE pool_id > pools.id)
    FROM pools WHERE pools.id IS NOT NULL
)
SELECT id FROM pools WHERE id IS NOT NULL
"""
# The newest state of each pool is its balance and stays, however old.
STATES = """
SELECT seq, at < %(before)s FROM budget_poolstate
WHERE pool_id = %(pool)s AND seq > %(after)s
    AND seq < (SELECT max(seq) FROM budget_poolstate WHERE pool_id = %(pool)s)
ORDER BY seq LIMIT %(most)s
"""
DELETE_STATES = "DELETE FROM budget_poolstate WHERE pool_id = %s AND seq = ANY (%s)"


class Pruned(NamedTuple):
    """How many rows were deleted."""

    calls: int
    jobs: int
    batches: int
    states: int


def prune(before: datetime, pool_id: int | None = None) -> Pruned:
    """Delete calls, jobs and batches that ended and states left before a moment; how many.

    Of one pool or of all. What is still open stays, for it will end, unless its pool is gone.
    """
    prune_callers(before, pool_id)
    calls = sum(_prune_by_id(CALLS, DELETE_CALLS, before, pool_id))
    jobs = sum(_prune_by_id(JOBS, DELETE_JOBS, before, pool_id))
    batches = sum(_prune_by_id(BATCHES, DELETE_BATCHES, before, pool_id))
    pools = _pools() if pool_id is None else [pool_id]
    sum(_prune_by_id(OBSERVATIONS, DELETE_OBSERVATIONS, before, pool_id))
    states = sum(deleted for pool in pools for deleted in _prune_states(pool, before))
    return Pruned(calls, jobs, batches, states)


def _pools() -> list[int]:
    return [pool_id for (pool_id,) in _rows(POOLS, {})]


def _prune_by_id(find: str, delete: str, before: datetime, pool_id: int | None) -> Iterator[int]:
    """Chunk after chunk, each found where the last one ended."""
    bounds = {"before": before, "end": lowest_id(micros(before)), "most": CHUNK, "pool": pool_id}
    after = UUID(int=0)
    while rows := _rows(find, {**bounds, "after": after}):
        old = [row_id for row_id, over in rows if over]
        yield _delete(delete, [old])
        after = rows[-1][0]


def _prune_states(pool_id: int, before: datetime) -> Iterator[int]:
    """Chunk after chunk, up to the first state that is not old."""
    bounds = {"pool": pool_id, "before": before, "most": CHUNK}
    after = 0
    while rows := _rows(STATES, {**bounds, "after": after}):
        old = [seq for seq, over in rows if over]
        yield _delete(DELETE_STATES, [pool_id, old])
        if len(old) < len(rows):
            return
        after = old[-1]


def _rows(query: str, params: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, params)
        return cursor.fetchall()


def _delete(statement: str, params: list[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return cursor.rowcount
