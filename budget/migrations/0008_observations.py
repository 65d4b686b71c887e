"""What providers said of their limits, and how those stood as they were last told."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("budget", "0007_untagged_index"),
    ]

    operations = [
        migrations.CreateModel(
            name="Observation",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("pool_id", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                ("seq", models.BigIntegerField()),
                ("position", models.IntegerField()),
                ("key_prefix", models.TextField(default="")),
                (
                    "refusal",
                    models.TextField(
                        choices=[("", "none"), ("busy", "busy"), ("money", "spend cap reached")],
                        default="",
                    ),
                ),
                ("wait_seconds", models.FloatField(null=True)),
                ("said_at", models.DateTimeField()),
                ("readings", models.JSONField()),
                ("tolerance", models.FloatField()),
                ("leaked", models.JSONField()),
                ("backoff", models.JSONField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["pool_id", "at"], name="budget_observations_of_pool"),
                    models.Index(fields=["pool_id", "seq"], name="budget_observations_in_order"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ProviderLimit",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("pool_id", models.BigIntegerField()),
                ("unit", models.TextField()),
                ("amount", models.BigIntegerField(null=True)),
                ("remaining", models.BigIntegerField(null=True)),
                ("per_seconds", models.IntegerField()),
                ("reset_seconds", models.FloatField(null=True)),
                ("seen_at", models.DateTimeField()),
                ("key_prefix", models.TextField(default="")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("pool_id", "unit"), name="budget_one_provider_limit"
                    )
                ],
            },
        ),
    ]
