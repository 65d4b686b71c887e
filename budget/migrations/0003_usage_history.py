"""Usage by hour and in all, beside that by minute; and who may pause."""

from django.db import migrations, models

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
        added=", ".join(f"sum({name})::bigint AS {name}" for name in COUNTS),
    )


class Migration(migrations.Migration):
    dependencies = [
        ("budget", "0002_jobs"),
    ]

    operations = [
        migrations.CreateModel(
            name="UsageHour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("pool_id", models.BigIntegerField()),
                ("workload_class", models.TextField()),
                ("offered", models.BigIntegerField(default=0)),
                ("admitted", models.BigIntegerField(default=0)),
                ("shed", models.JSONField(default=dict)),
                ("would_shed", models.JSONField(default=dict)),
                ("expired", models.BigIntegerField(default=0)),
                ("lease_expired", models.BigIntegerField(default=0)),
                ("offered_tokens", models.BigIntegerField(default=0)),
                ("estimated_tokens", models.BigIntegerField(default=0)),
                ("used_tokens", models.BigIntegerField(default=0)),
                ("refunded_tokens", models.BigIntegerField(default=0)),
                ("overrun_tokens", models.BigIntegerField(default=0)),
                ("corrected_tokens", models.BigIntegerField(db_default=0)),
                ("charged", models.BigIntegerField(default=0)),
                ("floor_tokens", models.BigIntegerField(default=0)),
                ("borrowed_tokens", models.BigIntegerField(default=0)),
                ("lent_tokens", models.BigIntegerField(default=0)),
                ("allowance", models.BigIntegerField(default=0)),
                ("queue_depth", models.BigIntegerField(null=True)),
                ("oldest_wait_seconds", models.FloatField(null=True)),
                ("hour", models.DateTimeField()),
                ("minute", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="UsageTotal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("pool_id", models.BigIntegerField()),
                ("workload_class", models.TextField()),
                ("offered", models.BigIntegerField(default=0)),
                ("admitted", models.BigIntegerField(default=0)),
                ("shed", models.JSONField(default=dict)),
                ("would_shed", models.JSONField(default=dict)),
                ("expired", models.BigIntegerField(default=0)),
                ("lease_expired", models.BigIntegerField(default=0)),
                ("offered_tokens", models.BigIntegerField(default=0)),
                ("estimated_tokens", models.BigIntegerField(default=0)),
                ("used_tokens", models.BigIntegerField(default=0)),
                ("refunded_tokens", models.BigIntegerField(default=0)),
                ("overrun_tokens", models.BigIntegerField(default=0)),
                ("corrected_tokens", models.BigIntegerField(db_default=0)),
                ("charged", models.BigIntegerField(default=0)),
                ("floor_tokens", models.BigIntegerField(default=0)),
                ("borrowed_tokens", models.BigIntegerField(default=0)),
                ("lent_tokens", models.BigIntegerField(default=0)),
                ("allowance", models.BigIntegerField(default=0)),
                ("queue_depth", models.BigIntegerField(null=True)),
                ("oldest_wait_seconds", models.FloatField(null=True)),
                ("minute", models.DateTimeField()),
            ],
        ),
        migrations.AlterModelOptions(
            name="pool",
            options={
                "ordering": ["slug"],
                "permissions": [("pause_pool", "Can pause and resume pool")],
            },
        ),
        migrations.AlterModelOptions(
            name="workloadclass",
            options={
                "ordering": [
                    models.Case(
                        models.When(then=models.Value(0), tier="interactive"),
                        models.When(then=models.Value(1), tier="near_line"),
                        models.When(then=models.Value(2), tier="bulk"),
                    ),
                    "deadline_seconds",
                    "slug",
                ],
                "permissions": [
                    ("pause_workloadclass", "Can pause, drain and resume workload class")
                ],
                "verbose_name_plural": "workload classes",
            },
        ),
        migrations.AddField(
            model_name="usageminute",
            name="corrected_tokens",
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="usageminute",
            name="oldest_wait_seconds",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="usageminute",
            name="queue_depth",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddIndex(
            model_name="usageminute",
            index=models.Index(fields=["pool_id", "minute"], name="budget_usage_of_pool"),
        ),
        migrations.AddConstraint(
            model_name="usagehour",
            constraint=models.UniqueConstraint(
                fields=("pool_id", "hour", "workload_class"), name="budget_one_usage_hour"
            ),
        ),
        migrations.AddConstraint(
            model_name="usagetotal",
            constraint=models.UniqueConstraint(
                fields=("pool_id", "workload_class"), name="budget_one_usage_total"
            ),
        ),
        migrations.RunSQL(add_up("budget_usagehour", by_hour=True), migrations.RunSQL.noop),
        migrations.RunSQL(add_up("budget_usagetotal", by_hour=False), migrations.RunSQL.noop),
    ]
