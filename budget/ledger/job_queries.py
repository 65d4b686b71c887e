"""The ledger's statements about jobs; see `budget.ledger.queries`."""

from budget.ledger.sql import as_micros, as_moment

JOB_COLUMNS = f"""
j.id, j.workload_class, j.key_prefix, j.idempotency_key, j.fingerprint, j.batchable,
j.input_tokens, j.output_tokens, j.source, j.tags,
{as_micros("j.enqueued_at")}, {as_micros("j.deadline")}, j.state, {as_micros("j.not_before")},
j.attempts, j.call_id, j.taking_id, j.batch_id, {as_micros("j.started_at")},
{as_micros("j.finished_at")}, j.error, octet_length(j.args), jsonb_array_length(j.trail),
j.trail @> '[{{"event": "asked_again"}}]', j.trail @> '[{{"event": "lease_expired"}}]'
"""

JOBS_BY_ID = f"SELECT {JOB_COLUMNS} FROM budget_job j WHERE j.id = ANY (%s) AND j.pool_id = %s"

JOBS_BY_KEY = f"""
SELECT {JOB_COLUMNS}
FROM jsonb_to_recordset(%s::jsonb) AS k (key_prefix text, idempotency_key text)
CROSS JOIN LATERAL (
    SELECT * FROM budget_job
    WHERE pool_id = %s AND key_prefix = k.key_prefix AND idempotency_key = k.idempotency_key
        AND idempotency_key IS NOT NULL
    LIMIT 1
) AS j
"""

# What a taking of unknown fate has taken, if its transaction did commit.
JOBS_BY_TAKING = f"""
SELECT {JOB_COLUMNS} FROM budget_job j
WHERE j.taking_id = ANY (%s) AND j.pool_id = %s AND j.state = 'running'
"""

# Every queue of a pool, counted; each part finds its rows by a partial index.
COUNT_QUEUES = f"""
WITH held AS (
    SELECT workload_class, input_tokens + output_tokens AS tokens, enqueued_at,
        deadline, 1 AS waits, 0 AS runs
    FROM budget_job WHERE pool_id = %(pool)s AND state = 'queued' AND not_before IS NULL
    UNION ALL
    SELECT workload_class, input_tokens + output_tokens, enqueued_at, deadline, 1, 0
    FROM budget_job WHERE pool_id = %(pool)s AND state = 'queued' AND not_before IS NOT NULL
    UNION ALL
    SELECT workload_class, 0, NULL, NULL, 0, 1
    FROM budget_job WHERE pool_id = %(pool)s AND state = 'running'
)
SELECT workload_class, sum(waits)::bigint, sum(tokens)::bigint, sum(runs)::bigint,
    {as_micros("min(enqueued_at)")}, {as_micros("min(deadline)")}
FROM held GROUP BY workload_class
"""

# Jobs whose rest is over are ready again.
WAKE = f"""
UPDATE budget_job SET not_before = NULL
WHERE id IN (
    SELECT id FROM budget_job
    WHERE pool_id = %(pool)s AND state = 'queued' AND not_before IS NOT NULL
        AND not_before <= {as_moment("%(now)s")}
    ORDER BY not_before LIMIT %(most)s
)
"""

# Everything too late to be served in time, in one statement; a bounded number, so that it
# doesn't hold the lock for long. What is left is not taken meanwhile, see READY; nor are jobs
# that the batch has read before, whose change it wouldn't see.
EXPIRE = f"""
WITH gone AS (
    UPDATE budget_job j
    SET state = 'expired', finished_at = {as_moment("%(now)s")},
        error = concat_ws(' Last: ', %(error)s::text, nullif(j.error, '')),
        trail = j.trail || %(steps)s::jsonb
    FROM (
        SELECT l.id
        FROM jsonb_to_recordset(%(classes)s::jsonb) AS c (slug text, cutoff bigint)
        CROSS JOIN (VALUES (false), (true)) AS b (batchable)
        CROSS JOIN LATERAL (
            SELECT id FROM budget_job
            WHERE pool_id = %(pool)s AND workload_class = c.slug AND batchable = b.batchable
                AND state = 'queued' AND not_before IS NULL
                AND deadline <= {as_moment("c.cutoff")} AND NOT id = ANY (%(known)s)
            ORDER BY deadline LIMIT %(most)s
        ) AS l
        LIMIT %(most)s
    ) AS late
    WHERE j.id = late.id
    RETURNING j.workload_class, j.input_tokens + j.output_tokens AS tokens
)
SELECT workload_class, count(*), sum(tokens)::bigint FROM gone GROUP BY workload_class
"""

# How long the oldest has waited, as the part of its time: of the hundred most urgent ones,
# among which it is as long as jobs of one class have alike deadlines.
WAITED = f"""
SELECT c.slug, o.oldest, w.part, w.first_deadline
FROM jsonb_to_recordset(%(classes)s::jsonb) AS c (slug text, cutoff bigint)
CROSS JOIN LATERAL (
    SELECT {as_micros("min(first)")} AS oldest
    FROM (VALUES (false), (true)) AS b (batchable)
    CROSS JOIN LATERAL (
        SELECT enqueued_at AS first FROM budget_job
        WHERE pool_id = %(pool)s AND workload_class = c.slug AND batchable = b.batchable
            AND state = 'queued' AND not_before IS NULL
        ORDER BY enqueued_at LIMIT 1
    ) AS f
) AS o
CROSS JOIN LATERAL (
    SELECT max(extract(epoch FROM {as_moment("%(now)s")} - enqueued_at)
        / greatest(0.001, extract(epoch FROM deadline - enqueued_at)))::float AS part,
        {as_micros("min(deadline)")} AS first_deadline
    FROM (VALUES (false), (true)) AS b (batchable)
    CROSS JOIN LATERAL (
        SELECT enqueued_at, deadline FROM budget_job
        WHERE pool_id = %(pool)s AND workload_class = c.slug AND batchable = b.batchable
            AND state = 'queued' AND not_before IS NULL AND deadline > {as_moment("c.cutoff")}
        ORDER BY deadline LIMIT 100
    ) AS urgent
) AS w
"""

_READY = f"""
SELECT {JOB_COLUMNS} FROM budget_job j
WHERE j.pool_id = %(pool)s AND j.workload_class = %(slug)s AND j.batchable = %(batchable)s
    AND j.state = 'queued' AND j.not_before IS NULL
    AND j.deadline > {as_moment("%(cutoff)s")} AND j.deadline < {as_moment("%(horizon)s")}
    AND NOT coalesce(
        j.attempts >= %(alone_from)s::int AND j.trail @> '[{{"event": "lease_expired"}}]', false
    )
"""
BY_DEADLINE = f"{_READY} ORDER BY j.deadline LIMIT %(most)s"
NEWEST_FIRST = f"{_READY} ORDER BY j.enqueued_at DESC LIMIT %(most)s"

# When a queue without a ready job has something to do: a rest ends, a job can't wait any
# longer for the batch endpoint, or it is still to be dropped.
NEXT_READY = f"""
SELECT {as_micros("least(r.first, b.first - %(window)s * interval '1 microsecond', d.first)")}
FROM (
    SELECT min(not_before) AS first FROM budget_job
    WHERE pool_id = %(pool)s AND state = 'queued' AND not_before IS NOT NULL
        AND workload_class = %(slug)s
) AS r, (
    SELECT min(deadline) AS first FROM budget_job
    WHERE pool_id = %(pool)s AND workload_class = %(slug)s AND batchable
        AND state = 'queued' AND not_before IS NULL
) AS b, (
    SELECT min(deadline) AS first FROM budget_job
    WHERE pool_id = %(pool)s AND workload_class = %(slug)s AND NOT batchable
        AND state = 'queued' AND not_before IS NULL
) AS d
"""

COLLECTABLE = f"""
SELECT {JOB_COLUMNS}
FROM jsonb_to_recordset(%(classes)s::jsonb) AS c (slug text)
CROSS JOIN LATERAL (
    SELECT * FROM budget_job
    WHERE pool_id = %(pool)s AND workload_class = c.slug AND batchable
        AND state = 'queued' AND not_before IS NULL
        AND deadline >= {as_moment("%(horizon)s")} AND model = %(model)s
    ORDER BY deadline LIMIT %(most)s
) AS j
ORDER BY j.deadline, j.id LIMIT %(most)s
"""

ENQUEUE = f"""
INSERT INTO budget_job (
    id, pool_id, workload_class, key_prefix, idempotency_key, fingerprint, task, args,
    batchable, model, input_tokens, output_tokens, source, tags, enqueued_at, deadline,
    state, attempts, error, trail
)
SELECT id, %s, workload_class, key_prefix, idempotency_key, fingerprint, task, args,
    batchable, model, input_tokens, output_tokens, source, tags,
    {as_moment("enqueued_at")}, {as_moment("deadline")}, 'queued', 0, '', '[]'
FROM jsonb_to_recordset(%s::jsonb) AS r (
    id uuid, workload_class text, key_prefix text, idempotency_key text, fingerprint text,
    task text, args text, batchable boolean, model text, input_tokens bigint,
    output_tokens bigint, source text, tags jsonb, enqueued_at bigint, deadline bigint
)
"""

# Before ENQUEUE, which may bring the same key again.
FORGET_JOB_KEYS = "UPDATE budget_job SET idempotency_key = NULL WHERE id = ANY (%s)"

CHANGE_JOBS = f"""
UPDATE budget_job j
SET state = r.state, batchable = r.batchable,
    not_before = {as_moment("r.not_before")}, attempts = r.attempts, call_id = r.call_id,
    taking_id = r.taking_id, batch_id = r.batch_id, started_at = {as_moment("r.started_at")},
    finished_at = {as_moment("r.finished_at")}, error = r.error,
    result = coalesce(r.result, j.result), trail = j.trail || r.steps
FROM jsonb_to_recordset(%s::jsonb) AS r (
    id uuid, state text, batchable boolean, not_before bigint, attempts integer,
    call_id uuid, taking_id uuid, batch_id uuid, started_at bigint, finished_at bigint,
    error text, result text, steps jsonb
)
WHERE j.id = r.id
"""
