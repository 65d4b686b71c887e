"""A month that never was: usage of many classes on several pools, and a million calls."""

from importlib import import_module
from typing import Any

import psycopg

SUMS = import_module("budget.migrations.0005_usage_so_far")
"""How `migrate` adds up the minutes there are."""
DAYS = 30
SOURCES = 200

# Busy by day, a spike every six hours in which the looser half of the classes is shed. Minutes
# that the ledger closed meanwhile stay.
MINUTES = f"""
INSERT INTO budget_usageminute (
    pool_id, workload_class, minute, offered, admitted, shed, would_shed, expired, lease_expired,
    offered_tokens, estimated_tokens, used_tokens, refunded_tokens, overrun_tokens, charged,
    floor_tokens, borrowed_tokens, lent_tokens, allowance, queue_depth, oldest_wait_seconds
)
SELECT p.id, c.slug, t.minute, t.busy + s.shed, t.busy,
    CASE WHEN s.shed > 0 THEN jsonb_build_object(
        'headroom', s.shed - s.shed / 3, 'floor_protected', s.shed / 3
    ) ELSE '{{}}' END,
    '{{}}', s.shed / 10, 0, (t.busy + s.shed) * 1000, t.busy * 1000, t.busy * 800, t.busy * 200,
    t.busy, t.busy * 800, t.busy * 300, t.busy * 100, t.busy * 50, 400000,
    s.shed, s.shed / 2.0
FROM budget_pool p
CROSS JOIN (SELECT slug, row_number() OVER (ORDER BY slug) AS n FROM budget_workloadclass) AS c
CROSS JOIN LATERAL (
    SELECT minute, 20 + (10 * sin(extract(epoch FROM minute) / 13750.0 + c.n))::bigint AS busy
    FROM generate_series(
        date_trunc('minute', now()) - interval '{DAYS} days',
        date_trunc('minute', now()) - interval '1 minute', interval '1 minute'
    ) AS minute
) AS t
CROSS JOIN LATERAL (
    SELECT CASE WHEN c.n > 5 AND extract(epoch FROM t.minute)::bigint % 21600 < 1200
        THEN 5 * c.n ELSE 0 END AS shed
) AS s
ON CONFLICT DO NOTHING
"""
# Half of the calls there are become sheds of many sources, spread over the month.
SHEDS = f"""
UPDATE budget_call c SET state = 'shed', outcome = '', settled_at = NULL,
    reason = (ARRAY['headroom', 'floor_protected', 'pool_exhausted'])[1 + n %% 3],
    "limit" = 'total_tokens/token_bucket', retry_after_ms = 1000 + n %% 60000,
    workload_class = (ARRAY['zeta', 'iota', 'kappa'])[1 + n %% 3], pool_id = %(pool)s,
    source = 'claims/jobs/source_' || n %% {SOURCES} || '.py:' || n %% 97,
    tags = jsonb_build_object('team', 'team ' || n %% 20, 'run', (n %% 1000)::text),
    offered_at = now() - interval '{DAYS} days' * (n %% 100000) / 100000.0
FROM (
    SELECT id, row_number() OVER (ORDER BY id) AS n FROM budget_call
) AS numbered WHERE numbered.id = c.id AND n %% 2 = 0
"""


def store_past(connection: psycopg.Connection[Any], pool: str) -> None:
    """Fills the tables of usage, and makes every other stored call a shed one of that pool."""
    connection.execute(MINUTES.encode())
    connection.execute(SUMS.add_up("budget_usagehour", by_hour=True))
    connection.execute(SUMS.add_up("budget_usagetotal", by_hour=False))
    found = connection.execute("SELECT id FROM budget_pool WHERE slug = %s", (pool,)).fetchone()
    assert found is not None, "the policy names it"
    connection.execute(SHEDS.encode(), {"pool": found[0]})
    connection.execute("VACUUM ANALYZE")
    connection.execute("CHECKPOINT")
