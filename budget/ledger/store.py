"""The ledger's SQL: lock, read, write.

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

import msgspec
import psycopg

from budget.ledger.rows import Changes, StoredCall

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
COMMIT = "COMMIT"

# Plans made while a table was nearly empty are bad ones once it has grown, which statistics
# notice only after a minute or more.
FORGET_PLANS = "DISCARD PLANS"

# The lock. Nothing else writes or references this row.
LOCK = "SELECT FROM budget_poollock WHERE pool_id = %s FOR NO KEY UPDATE"

# A lock row that got lost, by TRUNCATE for instance, comes back with the next batch.
RESTORE_LOCK = """
INSERT INTO budget_poollock (pool_id) SELECT id FROM budget_pool WHERE id = %s
ON CONFLICT DO NOTHING
"""

# The clock, the policy version and the newest state, which is left out if it is known.
# An old snapshot elsewhere keeps dead states alive behind the newest, never before it.
READ = """
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    (SELECT version FROM budget_policyversion WHERE pool_id = %(pool)s),
    s.seq, s.at, CASE WHEN (s.seq, s.at) IS DISTINCT FROM (%(seq)s, %(at)s) THEN s.state END
FROM (SELECT) AS nothing LEFT JOIN (
    SELECT seq, (extract(epoch FROM at) * 1000000)::bigint AS at, state
    FROM budget_poolstate WHERE pool_id = %(pool)s ORDER BY seq DESC LIMIT 1
) AS s ON true
"""

CALL_COLUMNS = """
c.id, c.key_prefix, c.idempotency_key, c.fingerprint, c.workload_class, c.policy_version, c.seq,
(extract(epoch FROM c.offered_at) * 1000000)::bigint,
(extract(epoch FROM c.deadline) * 1000000)::bigint,
c.input_tokens, c.output_tokens, c.state, c.reason, c."limit", c.retry_after_ms, c.detail,
c.charges::text, (extract(epoch FROM c.lease_expires) * 1000000)::bigint,
c.lapsed_at IS NOT NULL, c.outcome,
c.used_input_tokens, c.used_output_tokens, c.used_cached_input_tokens,
c.refunded, c.overrun
"""

CALLS_BY_ID = f"""
SELECT {CALL_COLUMNS} FROM budget_call c WHERE c.id = ANY (%s) AND c.pool_id = %s
"""

# LIMIT keeps the planner from scanning all of a pool's keys while it thinks they are few.
CALLS_BY_KEY = f"""
SELECT {CALL_COLUMNS}
FROM jsonb_to_recordset(%s::jsonb) AS k (key_prefix text, idempotency_key text)
CROSS JOIN LATERAL (
    SELECT * FROM budget_call
    WHERE pool_id = %s AND key_prefix = k.key_prefix AND idempotency_key = k.idempotency_key
        AND idempotency_key IS NOT NULL
    LIMIT 1
) AS c
"""

# Leases that ended, oldest first. Those up to `after` are dealt with: without that bound
# the search would wade through the index entries of every settled call since the last vacuum.
LAPSED = f"""
SELECT {CALL_COLUMNS} FROM budget_call c
WHERE c.pool_id = %(pool)s AND c.state = 'open'
    AND c.lease_expires > timestamptz 'epoch' + %(after)s * interval '1 microsecond'
    AND c.lease_expires <= timestamptz 'epoch' + %(to)s * interval '1 microsecond'
ORDER BY c.lease_expires, c.id LIMIT %(most)s
"""

NEXT_LAPSE = """
SELECT (extract(epoch FROM lease_expires) * 1000000)::bigint FROM budget_call
WHERE pool_id = %(pool)s AND state = 'open'
    AND lease_expires > timestamptz 'epoch' + %(after)s * interval '1 microsecond'
    AND lease_expires <= timestamptz 'epoch' + %(to)s * interval '1 microsecond'
ORDER BY lease_expires LIMIT 1
"""

# A refusal makes way for the same call's next decision; it keeps its place in the order.
RETRY = """
UPDATE budget_call c SET id = r.new_id, retried_as = c.id, idempotency_key = NULL
FROM jsonb_to_recordset(%s::jsonb) AS r (id uuid, new_id uuid) WHERE c.id = r.id
"""

FORGET_KEYS = "UPDATE budget_call SET idempotency_key = NULL WHERE id = ANY (%s)"

DECIDE = """
INSERT INTO budget_call (
    id, pool_id, workload_class, untagged, key_prefix, idempotency_key, fingerprint,
    input_tokens, output_tokens, source, tags, offered_at, deadline, seq, position,
    policy_version, state, reason, "limit", retry_after_ms, detail, retried_as,
    arithmetic, charges, lease_expires, outcome, refunded, overrun
)
SELECT id, %(pool)s, workload_class, untagged, key_prefix, idempotency_key, fingerprint,
    input_tokens, output_tokens, source, tags,
    timestamptz 'epoch' + %(now)s * interval '1 microsecond',
    timestamptz 'epoch' + deadline * interval '1 microsecond', %(seq)s, position,
    %(version)s, state, reason, "limit", retry_after_ms, detail, retried_as,
    arithmetic, charges, timestamptz 'epoch' + lease_expires * interval '1 microsecond',
    '', '{}', '{}'
FROM jsonb_to_recordset(%(calls)s::jsonb) AS r (
    id uuid, workload_class text, untagged boolean, key_prefix text, idempotency_key text,
    fingerprint text, input_tokens bigint, output_tokens bigint, source text, tags jsonb,
    deadline bigint, position integer, state text, reason text, "limit" text,
    retry_after_ms bigint, detail text, retried_as uuid, arithmetic jsonb, charges jsonb,
    lease_expires bigint
)
"""

LAPSE = """
UPDATE budget_call
SET state = 'lease_expired', lapsed_at = timestamptz 'epoch' + %s * interval '1 microsecond'
WHERE id = ANY (%s)
"""

SETTLE = """
UPDATE budget_call c
SET state = 'settled', outcome = r.outcome,
    used_input_tokens = r.used_input_tokens, used_output_tokens = r.used_output_tokens,
    used_cached_input_tokens = r.used_cached_input_tokens,
    refunded = r.refunded, overrun = r.overrun,
    settled_at = timestamptz 'epoch' + %(now)s * interval '1 microsecond',
    settled_seq = %(seq)s, settled_position = r.position,
    idempotency_key = CASE WHEN NOT r.forget_key THEN c.idempotency_key END
FROM jsonb_to_recordset(%(calls)s::jsonb) AS r (
    id uuid, outcome text, used_input_tokens bigint, used_output_tokens bigint,
    used_cached_input_tokens bigint, refunded jsonb, overrun jsonb, position integer,
    forget_key boolean
)
WHERE c.id = r.id
"""

RENEW = """
UPDATE budget_call c
SET lease_expires = timestamptz 'epoch' + r.lease_expires * interval '1 microsecond'
FROM jsonb_to_recordset(%s::jsonb) AS r (id uuid, lease_expires bigint) WHERE c.id = r.id
"""

CLOSE_MINUTE = """
INSERT INTO budget_usageminute (
    pool_id, minute, allowance, workload_class, offered, admitted, shed, would_shed, expired,
    lease_expired, offered_tokens, estimated_tokens, used_tokens, refunded_tokens,
    overrun_tokens, charged, floor_tokens, borrowed_tokens, lent_tokens
)
SELECT %(pool)s, timestamptz 'epoch' + %(minute)s * interval '1 microsecond', %(allowance)s,
    workload_class, offered, admitted, shed, would_shed, 0,
    lease_expired, offered_tokens, estimated_tokens, used_tokens, refunded_tokens,
    overrun_tokens, charged, round(floor_tokens), round(borrowed_tokens), round(lent_tokens)
FROM jsonb_to_recordset(%(tallies)s::jsonb) AS r (
    workload_class text, offered bigint, admitted bigint, shed jsonb, would_shed jsonb,
    lease_expired bigint, offered_tokens bigint, estimated_tokens bigint, used_tokens bigint,
    refunded_tokens bigint, overrun_tokens bigint, charged bigint,
    floor_tokens float, borrowed_tokens float, lent_tokens float
)
ON CONFLICT DO NOTHING
"""

KEEP_REVISION = """
INSERT INTO budget_policyrevision (pool_id, version, terms, changed_at, read_at)
VALUES (%s, %s, %s, timestamptz 'epoch' + %s * interval '1 microsecond',
    timestamptz 'epoch' + %s * interval '1 microsecond')
ON CONFLICT DO NOTHING
"""

APPEND_STATE = """
INSERT INTO budget_poolstate (pool_id, seq, at, state, kept)
VALUES (%s, %s, timestamptz 'epoch' + %s * interval '1 microsecond', %b, %s)
"""

# Deletes a bounded stretch, so that an old snapshot elsewhere doesn't make it wade through
# ever more states that are deleted but still there.
SWEEP_STATES = """
DELETE FROM budget_poolstate WHERE pool_id = %s AND seq > %s AND seq <= %s AND NOT kept
"""

SWEEP_EVERY = 64
"""Old states are deleted this many batches at a time."""
MOST_LAPSES = 1000
"""Leases ended per batch; further ones wait for the next."""
LOOK_AHEAD = 5_000_000
"""How far `NEXT_LAPSE` looks, in microseconds."""


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
) -> Reading | None:
    """Open a transaction that holds the pool's lock, and read what a batch needs.

    `ids` and `keys` (prefix, idempotency key) name the calls to look up. None if there is
    no lock row: see `restore_lock`. Raises psycopg.errors.LockNotAvailable when another
    writer holds the lock for too long.
    """
    wanted = {
        "pool": pool_id,
        "seq": known.seq if known else None,
        "at": known.at if known else None,
    }
    found: list[psycopg.Cursor] = []
    connection.execute(BEGIN, prepare=True)
    lock = connection.execute(LOCK, (pool_id,), prepare=True)
    state = connection.execute(READ, wanted, prepare=True, binary=True)
    if ids:
        found.append(connection.execute(CALLS_BY_ID, (ids, pool_id), prepare=True))
    if key_document := [{"key_prefix": prefix, "idempotency_key": key} for prefix, key in keys]:
        document = _json(key_document)
        found.append(connection.execute(CALLS_BY_KEY, (document, pool_id), prepare=True))
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
    )


def restore_lock(connection: psycopg.Connection, pool_id: int) -> bool:
    """Bring a pool's lock row back; False if there is no such pool."""
    connection.execute(RESTORE_LOCK, (pool_id,))
    return connection.execute(LOCK, (pool_id,)).rowcount > 0


def read_lapsed(
    connection: psycopg.Connection, pipeline: psycopg.Pipeline, pool_id: int, after: int, now: int
) -> tuple[list[StoredCall], int, int]:
    """The leases that ended since `after`, up to when they are all, and a bound for the next."""
    bounds = {"pool": pool_id, "after": after, "to": now, "most": MOST_LAPSES}
    ended = connection.execute(LAPSED, bounds, prepare=True)
    bounds = {"pool": pool_id, "after": now, "to": now + LOOK_AHEAD}
    upcoming = connection.execute(NEXT_LAPSE, bounds, prepare=True)
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
    connection.execute(COMMIT, prepare=True)


def _statements(
    pool_id: int, changes: Changes, state: NewState | None
) -> Iterator[tuple[str, Any]]:
    if state is not None:
        yield from _state_statements(pool_id, changes, state)
    if changes.renewed:
        yield RENEW, (_json(changes.renewed),)


def _state_statements(pool_id: int, changes: Changes, state: NewState) -> Iterator[tuple[str, Any]]:
    seq, at, document = state.known
    batch = {"pool": pool_id, "seq": seq, "now": at, "version": state.version}
    if changes.retried:
        yield RETRY, (_json(changes.retried),)
    if changes.forgotten:
        yield FORGET_KEYS, (changes.forgotten,)
    if changes.decided:
        yield DECIDE, {**batch, "calls": _json(changes.decided)}
    if changes.lapsed:
        yield LAPSE, (at, changes.lapsed)
    if changes.settled:
        yield SETTLE, {"seq": seq, "now": at, "calls": _json(changes.settled)}
    if closed := changes.closed:
        tallies = _json(closed.documents())
        yield (
            CLOSE_MINUTE,
            {
                "pool": pool_id,
                "minute": closed.start,
                "allowance": closed.allowance,
                "tallies": tallies,
            },
        )
    if changes.revision is not None:
        terms, changed_at = changes.revision
        yield KEEP_REVISION, (pool_id, terms.version, _json(terms), changed_at, at)
    yield APPEND_STATE, (pool_id, seq, at, document, state.kept)
    if seq % SWEEP_EVERY == 0:
        newest = seq - SWEEP_EVERY
        yield SWEEP_STATES, (pool_id, newest - SWEEP_EVERY, newest)


def _one(cursor: psycopg.Cursor) -> Any:
    """The row of a statement that always has one."""
    row = cursor.fetchone()
    assert row is not None, "always one row"
    return row


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
