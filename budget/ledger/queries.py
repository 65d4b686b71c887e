"""The ledger's statements. Moments cross as microseconds since the epoch, rows as JSON."""

from budget.ledger import usage_columns as usage
from budget.ledger.sql import as_micros, as_moment

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
READ = f"""
SELECT {as_micros("clock_timestamp()")},
    (SELECT version FROM budget_policyversion WHERE pool_id = %(pool)s),
    s.seq, s.at, CASE WHEN (s.seq, s.at) IS DISTINCT FROM (%(seq)s, %(at)s) THEN s.state END
FROM (SELECT) AS nothing LEFT JOIN (
    SELECT seq, {as_micros("at")} AS at, state
    FROM budget_poolstate WHERE pool_id = %(pool)s ORDER BY seq DESC LIMIT 1
) AS s ON true
"""

CALL_COLUMNS = f"""
c.id, c.key_prefix, c.idempotency_key, c.fingerprint, c.workload_class, c.policy_version, c.seq,
{as_micros("c.offered_at")},
{as_micros("c.deadline")},
c.input_tokens, c.output_tokens, c.state, c.reason, c."limit", c.retry_after_ms, c.detail,
c.charges, {as_micros("c.lease_expires")},
c.lapsed_at IS NOT NULL, c.retried_as IS NOT NULL, c.outcome,
c.used_input_tokens, c.used_output_tokens, c.used_cached_input_tokens,
c.refunded, c.overrun, c.job_id, c.of_batch
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
    AND c.lease_expires > {as_moment("%(after)s")}
    AND c.lease_expires <= {as_moment("%(to)s")}
ORDER BY c.lease_expires, c.id LIMIT %(most)s
"""

NEXT_LAPSE = f"""
SELECT {as_micros("lease_expires")} FROM budget_call
WHERE pool_id = %(pool)s AND state = 'open'
    AND lease_expires > {as_moment("%(after)s")}
    AND lease_expires <= {as_moment("%(to)s")}
ORDER BY lease_expires LIMIT 1
"""

# A refusal makes way for the same call's next decision; it keeps its place in the order.
RETRY = """
UPDATE budget_call c SET id = r.new_id, retried_as = c.id, idempotency_key = NULL
FROM jsonb_to_recordset(%s::jsonb) AS r (id uuid, new_id uuid) WHERE c.id = r.id
"""

FORGET_KEYS = "UPDATE budget_call SET idempotency_key = NULL WHERE id = ANY (%s)"

# An admitted call that was asked for again: whoever gave up on it is not its only caller.
HEARD = "UPDATE budget_call SET retried_as = id WHERE id = ANY (%s)"

DECIDE = f"""
INSERT INTO budget_call (
    id, pool_id, workload_class, untagged, key_prefix, idempotency_key, fingerprint,
    input_tokens, output_tokens, source, tags, offered_at, deadline, seq, position,
    policy_version, state, reason, "limit", retry_after_ms, detail,
    arithmetic, charges, lease_expires, outcome, refunded, overrun, job_id, of_batch
)
SELECT id, %(pool)s, workload_class, untagged, key_prefix, idempotency_key, fingerprint,
    input_tokens, output_tokens, source, tags,
    {as_moment("%(now)s")},
    {as_moment("deadline")}, %(seq)s, position,
    %(version)s, state, reason, "limit", retry_after_ms, detail,
    arithmetic, charges, {as_moment("lease_expires")},
    '', '{{}}', '{{}}', job_id, of_batch
FROM jsonb_to_recordset(%(calls)s::jsonb) AS r (
    id uuid, workload_class text, untagged boolean, key_prefix text, idempotency_key text,
    fingerprint text, input_tokens bigint, output_tokens bigint, source text, tags jsonb,
    deadline bigint, position integer, state text, reason text, "limit" text,
    retry_after_ms bigint, detail text, arithmetic text, charges text, lease_expires bigint,
    job_id uuid, of_batch boolean
)
"""

LAPSE = f"""
UPDATE budget_call
SET state = 'lease_expired', lapsed_at = {as_moment("%s")}
WHERE id = ANY (%s)
"""

SETTLE = f"""
UPDATE budget_call c
SET state = 'settled', outcome = r.outcome,
    used_input_tokens = r.used_input_tokens, used_output_tokens = r.used_output_tokens,
    used_cached_input_tokens = r.used_cached_input_tokens,
    refunded = r.refunded, overrun = r.overrun,
    settled_at = {as_moment("%(now)s")},
    settled_seq = %(seq)s, settled_position = r.position,
    idempotency_key = CASE WHEN NOT r.forget_key THEN c.idempotency_key END
FROM jsonb_to_recordset(%(calls)s::jsonb) AS r (
    id uuid, outcome text, used_input_tokens bigint, used_output_tokens bigint,
    used_cached_input_tokens bigint, refunded jsonb, overrun jsonb, position integer,
    forget_key boolean
)
WHERE c.id = r.id
"""

RENEW = f"""
UPDATE budget_call c
SET lease_expires = {as_moment("r.lease_expires")}
FROM jsonb_to_recordset(%s::jsonb) AS r (id uuid, lease_expires bigint) WHERE c.id = r.id
"""

LEAKED = "SELECT id, leaked FROM budget_observation WHERE id = ANY (%s) AND pool_id = %s"

OBSERVE = f"""
INSERT INTO budget_observation (
    id, pool_id, at, seq, position, key_prefix, strictest, refusal, wait_seconds, said_at,
    readings, tolerance, leaked, backoff
)
SELECT id, %(pool)s, {as_moment("%(now)s")}, %(seq)s, position, key_prefix, strictest, refusal,
    wait_seconds, {as_moment("said_at")}, readings, tolerance, leaked, backoff
FROM jsonb_to_recordset(%(observed)s::jsonb) AS r (
    id uuid, position integer, key_prefix text, strictest text, refusal text,
    wait_seconds float8, said_at bigint, readings jsonb, tolerance float8, leaked jsonb,
    backoff jsonb
)
"""

# Reports the ledger has not taken in; the newest first, as older ones excuse less or nothing.
EXCUSABLE = f"""
SELECT id, admitted, greatest(input_tokens, estimated_input_tokens),
    greatest(output_tokens, estimated_output_tokens), {as_micros("first_at")},
    {as_micros("last_at")}
FROM budget_awayreport WHERE pool_id = %s AND seq IS NULL ORDER BY id DESC LIMIT %s
"""

EXCUSE = f"""
UPDATE budget_awayreport a
SET at = {as_moment("%(now)s")}, seq = %(seq)s, position = r.position
FROM jsonb_to_recordset(%(excused)s::jsonb) AS r (id bigint, position integer) WHERE a.id = r.id
"""

# Once a second is often enough, however many tell it.
SEE_LIMITS = f"""
INSERT INTO budget_providerlimit AS s (
    pool_id, unit, amount, remaining, per_seconds, reset_seconds, seen_at, key_prefix
)
SELECT %s, unit, amount, remaining, per_seconds, reset_seconds, {as_moment("seen_at")}, key_prefix
FROM jsonb_to_recordset(%s::jsonb) AS r (
    unit text, amount bigint, remaining bigint, per_seconds integer, reset_seconds float8,
    seen_at bigint, key_prefix text
)
ON CONFLICT (pool_id, unit) DO UPDATE SET
    amount = coalesce(excluded.amount, s.amount), remaining = excluded.remaining,
    per_seconds = excluded.per_seconds, reset_seconds = excluded.reset_seconds,
    seen_at = excluded.seen_at, key_prefix = excluded.key_prefix
WHERE s.seen_at <= excluded.seen_at - interval '1 s'
"""

# A closed minute is inserted once; its hour and the totals grow by what was inserted.
CLOSE_MINUTE = f"""
WITH closed AS (
    INSERT INTO budget_usageminute (
        pool_id, minute, leading_limit, allowance, workload_class, {usage.COLUMNS}
    )
    SELECT %(pool)s, {as_moment("%(minute)s")}, %(leading)s, %(allowance)s, workload_class,
        {usage.COLUMNS}
    FROM jsonb_to_recordset(%(tallies)s::jsonb) AS r (workload_class text, {usage.TYPES})
    ON CONFLICT DO NOTHING
    RETURNING *
), hours AS (
    INSERT INTO budget_usagehour AS u (
        pool_id, hour, minute, leading_limit, allowance, workload_class, {usage.COLUMNS}
    )
    SELECT pool_id, date_trunc('hour', minute, 'UTC'), minute, leading_limit, allowance,
        workload_class, {usage.COLUMNS}
    FROM closed
    ON CONFLICT (pool_id, hour, workload_class) DO UPDATE SET {usage.ADDED_UP}
)
INSERT INTO budget_usagetotal AS u (
    pool_id, minute, leading_limit, allowance, workload_class, {usage.COLUMNS}
)
SELECT pool_id, minute, leading_limit, allowance, workload_class, {usage.COLUMNS} FROM closed
ON CONFLICT (pool_id, workload_class) DO UPDATE SET {usage.ADDED_UP}
"""

KEEP_REVISION = f"""
INSERT INTO budget_policyrevision (pool_id, version, terms, changed_at, read_at)
VALUES (%s, %s, %s, {as_moment("%s")},
    {as_moment("%s")})
ON CONFLICT DO NOTHING
"""

APPEND_STATE = f"""
INSERT INTO budget_poolstate (pool_id, seq, at, state, kept)
VALUES (%s, %s, {as_moment("%s")}, %b, %s)
"""

# Deletes a bounded stretch, so that an old snapshot elsewhere doesn't make it wade through
# ever more states that are deleted but still there.
SWEEP_STATES = """
DELETE FROM budget_poolstate WHERE pool_id = %s AND seq > %s AND seq <= %s AND NOT kept
"""
