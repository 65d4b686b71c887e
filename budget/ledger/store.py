"""The ledger's transaction: lock, read, write.

A transaction is two pipelined round trips. The first takes the pool's lock, which is a
statement of its own: only the statements after it see what the last holder committed.
The second writes everything the batch changed and commits.

Until the commit each round trip ends with `Pipeline.sync`. Leaving the pipeline instead, or
fetching before the sync, sends a flush after it, and that message disarms the server's
timeout for idle transactions: a writer stopped while it holds the lock would keep it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import psycopg

from budget.ledger import job_queries, queries
from budget.ledger.job_rows import StoredJob
from budget.ledger.rows import Changes, StoredCall, json_text

SWEEP_EVERY = 64
"""Old states are deleted this many batches at a time."""
MOST_LAPSES = 1000
"""Leases ended per batch; further ones wait for the next."""
LOOK_AHEAD = 5_000_000
"""How far `queries.NEXT_LAPSE` looks, in microseconds."""


class Known(NamedTuple):
    """The state a writer remembers."""

    seq: int
    at: int
    document: bytes


class Reading(NamedTuple):
    """What stands in the database once the lock is held."""

    clock: int
    version: int | None
    """The policy version; None if there is no such pool."""
    state: Known | None
    """The newest state; None if the pool has none."""
    calls: list[StoredCall]
    jobs: list[StoredJob]


class WantedJobs(NamedTuple):
    """Jobs to look up: by id, by (prefix, idempotency key), by what took them."""

    ids: Sequence[UUID] = ()
    keys: Sequence[tuple[str, str]] = ()
    takings: Sequence[UUID] = ()


NO_JOBS = WantedJobs()


class NewState(NamedTuple):
    """The state to append after a batch."""

    known: Known
    kept: bool
    version: int


def lock_and_read(
    connection: psycopg.Connection,
    pipeline: psycopg.Pipeline,
    pool_id: int,
    known: Known | None,
    ids: Sequence[UUID] = (),
    keys: Iterable[tuple[str, str]] = (),
    jobs: WantedJobs = NO_JOBS,
) -> Reading | None:
    """Open a transaction that holds the pool's lock, and read what a batch needs.

    `ids` and `keys` (prefix, idempotency key) name the calls to look up, `jobs` the jobs.
    None if there is no lock row: see `restore_lock`. Raises psycopg.errors.LockNotAvailable
    when another writer holds the lock for too long.
    """
    wanted = {
        "pool": pool_id,
        "seq": known.seq if known else None,
        "at": known.at if known else None,
    }
    found: list[psycopg.Cursor] = []
    connection.execute(queries.BEGIN, prepare=True)
    lock = connection.execute(queries.LOCK, (pool_id,), prepare=True)
    state = connection.execute(queries.READ, wanted, prepare=True, binary=True)
    if ids:
        found.append(read_calls(connection, pool_id, ids))
    if key_document := [{"key_prefix": prefix, "idempotency_key": key} for prefix, key in keys]:
        document = json_text(key_document)
        found.append(connection.execute(queries.CALLS_BY_KEY, (document, pool_id), prepare=True))
    wanted_jobs = read_jobs(connection, pool_id, jobs)
    pipeline.sync()
    if lock.rowcount == 0:
        return None
    clock, version, seq, at, document = _one(state)
    newest = known if document is None else Known(seq, at, document)
    return Reading(
        clock,
        version,
        None if seq is None else newest,
        [StoredCall(*row) for cursor in found for row in cursor],
        [StoredJob(*row) for cursor in wanted_jobs for row in cursor],
    )


def read_calls(connection: psycopg.Connection, pool_id: int, ids: Sequence[UUID]) -> psycopg.Cursor:
    """Ask for calls; their rows are there after the next sync."""
    return connection.execute(queries.CALLS_BY_ID, (ids, pool_id), prepare=True)


def read_jobs(
    connection: psycopg.Connection, pool_id: int, wanted: WantedJobs
) -> list[psycopg.Cursor]:
    """Ask for jobs; their rows are there after the next sync."""
    found = []
    if wanted.ids:
        found.append(
            connection.execute(job_queries.JOBS_BY_ID, (wanted.ids, pool_id), prepare=True)
        )
    if wanted.keys:
        keys = [{"key_prefix": prefix, "idempotency_key": key} for prefix, key in wanted.keys]
        document = json_text(keys)
        found.append(connection.execute(job_queries.JOBS_BY_KEY, (document, pool_id), prepare=True))
    if wanted.takings:
        takings = (wanted.takings, pool_id)
        found.append(connection.execute(job_queries.JOBS_BY_TAKING, takings, prepare=True))
    return found


def restore_lock(connection: psycopg.Connection, pool_id: int) -> bool:
    """Bring a pool's lock row back; False if there is no such pool."""
    connection.execute(queries.RESTORE_LOCK, (pool_id,))
    return connection.execute(queries.LOCK, (pool_id,)).rowcount > 0


def read_lapsed(
    connection: psycopg.Connection, pipeline: psycopg.Pipeline, pool_id: int, after: int, now: int
) -> tuple[list[StoredCall], int, int]:
    """The leases that ended since `after`, up to when they are all, and a bound for the next."""
    bounds = {"pool": pool_id, "after": after, "to": now, "most": MOST_LAPSES}
    ended = connection.execute(queries.LAPSED, bounds, prepare=True)
    bounds = {"pool": pool_id, "after": now, "to": now + LOOK_AHEAD}
    upcoming = connection.execute(queries.NEXT_LAPSE, bounds, prepare=True)
    pipeline.sync()
    lapsed = [StoredCall(*row) for row in ended]
    if len(lapsed) == MOST_LAPSES:
        through = (lapsed[-1].lease_expires or 0) - 1
        return lapsed, through, through
    row = upcoming.fetchone()
    return lapsed, now, row[0] if row else now + LOOK_AHEAD


def write_and_commit(
    connection: psycopg.Connection,
    pool_id: int,
    changes: Changes,
    state: NewState | None,
) -> None:
    """Write what a batch changed and commit, which is done when the pipeline ends.

    On an error, which may come as late as that, nothing is written.
    """
    for statement, params in _statements(pool_id, changes, state):
        connection.execute(statement, params, prepare=True)
    connection.execute(queries.COMMIT, prepare=True)


def _statements(
    pool_id: int, changes: Changes, state: NewState | None
) -> Iterator[tuple[str, Any]]:
    if state is not None:
        yield from _state_statements(pool_id, changes, state)
    if changes.renewed:
        yield queries.RENEW, (json_text(changes.renewed),)
    if changes.heard:
        yield queries.HEARD, (changes.heard,)
    if changes.seen:
        yield queries.SEE_LIMITS, (pool_id, json_text(list(changes.seen.values())))


def _state_statements(pool_id: int, changes: Changes, state: NewState) -> Iterator[tuple[str, Any]]:
    seq, at, document = state.known
    batch = {"pool": pool_id, "seq": seq, "now": at, "version": state.version}
    if changes.retried:
        yield queries.RETRY, (json_text(changes.retried),)
    if changes.forgotten:
        yield queries.FORGET_KEYS, (changes.forgotten,)
    if changes.decided:
        yield queries.DECIDE, {**batch, "calls": json_text(changes.decided)}
    yield from _told_statements(changes, batch)
    yield from _job_statements(pool_id, changes)
    if changes.lapsed:
        yield queries.LAPSE, (at, changes.lapsed)
    if changes.settled:
        yield queries.SETTLE, {"seq": seq, "now": at, "calls": json_text(changes.settled)}
    if closed := changes.closed:
        tallies = json_text(closed.documents())
        yield (
            queries.CLOSE_MINUTE,
            {
                "pool": pool_id,
                "minute": closed.start,
                "leading": closed.leading,
                "allowance": closed.allowance,
                "tallies": tallies,
            },
        )
    if changes.revision is not None:
        terms, changed_at = changes.revision
        yield queries.KEEP_REVISION, (pool_id, terms.version, json_text(terms), changed_at, at)
    yield queries.APPEND_STATE, (pool_id, seq, at, document, state.kept)
    if seq % SWEEP_EVERY == 0:
        newest = seq - SWEEP_EVERY
        yield queries.SWEEP_STATES, (pool_id, newest - SWEEP_EVERY, newest)


def _told_statements(changes: Changes, batch: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if changes.observed:
        yield queries.OBSERVE, {**batch, "observed": json_text(changes.observed)}
    if changes.excused:
        yield queries.EXCUSE, {**batch, "excused": json_text(changes.excused)}


def _job_statements(pool_id: int, changes: Changes) -> Iterator[tuple[str, Any]]:
    if changes.forgotten_jobs:
        yield job_queries.FORGET_JOB_KEYS, (changes.forgotten_jobs,)
    if changes.enqueued:
        yield job_queries.ENQUEUE, (pool_id, json_text(changes.enqueued))
    if changes.jobs:
        rows = [job.changes() for job in changes.jobs.values()]
        yield job_queries.CHANGE_JOBS, (json_text(rows),)


def _one(cursor: psycopg.Cursor) -> Any:
    """The row of a statement that always has one."""
    row = cursor.fetchone()
    assert row is not None, "always one row"
    return row
