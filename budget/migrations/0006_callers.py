"""Processes that call, what they decided while the service was away, and a count of untagged."""

from django.db import migrations, models

CHOICES = [
    ("admit", "admit"),
    ("shed", "shed"),
    ("local", "local: a share kept in the caller's process"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("budget", "0005_usage_so_far"),
    ]

    operations = [
        migrations.CreateModel(
            name="AwayReport",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("pool_id", models.BigIntegerField()),
                ("workload_class", models.TextField()),
                ("choice", models.TextField(choices=CHOICES)),
                ("admitted", models.BigIntegerField()),
                ("shed", models.BigIntegerField()),
                ("input_tokens", models.BigIntegerField()),
                ("output_tokens", models.BigIntegerField()),
                ("report", models.UUIDField(unique=True)),
                ("key_prefix", models.TextField(default="")),
                ("first_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                ("received_at", models.DateTimeField()),
            ],
            options={"verbose_name": "away report"},
        ),
        migrations.CreateModel(
            name="AwayTotal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("pool_id", models.BigIntegerField()),
                ("workload_class", models.TextField()),
                ("choice", models.TextField(choices=CHOICES)),
                ("admitted", models.BigIntegerField()),
                ("shed", models.BigIntegerField()),
                ("input_tokens", models.BigIntegerField()),
                ("output_tokens", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="CallerProcess",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("pool_id", models.BigIntegerField()),
                ("process", models.UUIDField()),
                ("name", models.TextField(default="")),
                ("key_prefix", models.TextField(default="")),
                ("seen_at", models.DateTimeField()),
            ],
            options={
                "verbose_name": "caller process",
                "verbose_name_plural": "caller processes",
            },
        ),
        migrations.CreateModel(
            name="UntaggedCaller",
            fields=[],
            options={
                "verbose_name": "untagged caller",
                "proxy": True,
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
            bases=("budget.call",),
        ),
        migrations.AddField(
            model_name="usagehour",
            name="untagged",
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="usageminute",
            name="untagged",
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="usagetotal",
            name="untagged",
            field=models.BigIntegerField(db_default=0),
        ),
        migrations.AddIndex(
            model_name="awayreport",
            index=models.Index(fields=["pool_id", "last_at"], name="budget_away_of_pool"),
        ),
        migrations.AddIndex(
            model_name="awayreport",
            index=models.Index(fields=["received_at"], name="budget_away_received"),
        ),
        migrations.AddConstraint(
            model_name="awaytotal",
            constraint=models.UniqueConstraint(
                fields=("pool_id", "workload_class", "choice"), name="budget_one_away_total"
            ),
        ),
        migrations.AddIndex(
            model_name="callerprocess",
            index=models.Index(fields=["pool_id", "seen_at"], name="budget_processes_heard"),
        ),
        migrations.AddConstraint(
            model_name="callerprocess",
            constraint=models.UniqueConstraint(
                fields=("pool_id", "process"), name="budget_one_process"
            ),
        ),
    ]
