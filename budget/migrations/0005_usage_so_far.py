"""Adds up the minutes there are by hour and in all. It may be run again, and again."""

from django.db import migrations

COUNTS = [
    "offered",
    "admitted",
    "expired",
    "lease_expired",
    "offered_tokens",
    "estimated_tokens",
    "used_tokens",
    "refunded_tokens",
    "overrun_tokens",
    "corrected_tokens",
    "charged",
    "floor_tokens",
    "borrowed_tokens",
    "lent_tokens",
    "allowance",
    "minutes",
]

# By hour, or without one in all.
ADD_UP = """
WITH minutes AS (SELECT *, {hour} AS hour FROM budget_usageminute),
reasons AS (
    SELECT pool_id, workload_class, hour, kind, jsonb_object_agg(key, count) AS counts FROM (
        SELECT pool_id, workload_class, hour, kind, key, sum(value::bigint) AS count
        FROM minutes
        CROSS JOIN LATERAL (VALUES ('shed', shed), ('would_shed', would_shed)) AS d (kind, counts)
        CROSS JOIN LATERAL jsonb_each_text(d.counts)
        GROUP BY 1, 2, 3, 4, 5
    ) AS counted GROUP BY 1, 2, 3, 4
)
INSERT INTO {table} (pool_id, workload_class, {column} minute, {counts}, shed, would_shed)
SELECT m.pool_id, m.workload_class, {value} m.minute, {sums},
    coalesce(s.counts, '{{}}'), coalesce(w.counts, '{{}}')
FROM (
    SELECT pool_id, workload_class, hour, max(minute) AS minute, {added}
    FROM minutes GROUP BY 1, 2, 3
) AS m
LEFT JOIN reasons s ON (s.pool_id, s.workload_class, s.hour, s.kind)
    = (m.pool_id, m.workload_class, m.hour, 'shed')
LEFT JOIN reasons w ON (w.pool_id, w.workload_class, w.hour, w.kind)
    = (m.pool_id, m.workload_class, m.hour, 'would_shed')
ON CONFLICT (pool_id, {column} workload_class) DO UPDATE SET {updated}
"""


def add_up(table: str, by_hour: bool) -> str:
    """SQL that fills a table of sums from the minutes there are."""
    return ADD_UP.format(
        table=table,
        hour="date_trunc('hour', minute, 'UTC')" if by_hour else "timestamptz 'epoch'",
        column="hour," if by_hour else "",
        value="m.hour," if by_hour else "",
        counts=", ".join(COUNTS),
        sums=", ".join(f"m.{name}" for name in COUNTS),
        updated=", ".join(
            f"{name} = excluded.{name}" for name in (*COUNTS, "minute", "shed", "would_shed")
        ),
        added=", ".join(f"sum({name})::bigint AS {name}" for name in COUNTS),
    )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("budget", "0004_usage_indexes")]

    operations = [
        migrations.RunSQL(add_up("budget_usagehour", by_hour=True), migrations.RunSQL.noop),
        migrations.RunSQL(add_up("budget_usagetotal", by_hour=False), migrations.RunSQL.noop),
    ]
