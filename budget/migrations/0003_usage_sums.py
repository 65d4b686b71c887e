"""Usage by hour and in all, beside that by minute; and who may pause."""

from django.db import migrations, models


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
                ("minutes", models.IntegerField(db_default=1)),
                ("leading_limit", models.TextField(db_default="")),
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
                ("minutes", models.IntegerField(db_default=1)),
                ("leading_limit", models.TextField(db_default="")),
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
            name="leading_limit",
            field=models.TextField(db_default=""),
        ),
        migrations.AddField(
            model_name="usageminute",
            name="minutes",
            field=models.IntegerField(db_default=1),
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
    ]
