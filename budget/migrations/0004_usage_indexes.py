"""Sheds and usage by time; the indexes are built without keeping anybody from writing."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("budget", "0003_usage_sums")]

    operations = [
        AddIndexConcurrently(
            model_name="call",
            index=models.Index(
                condition=models.Q(("reason", ""), _negated=True),
                fields=["pool_id", "offered_at"],
                include=("workload_class", "reason", "state", "source", "key_prefix"),
                name="budget_sheds",
            ),
        ),
        AddIndexConcurrently(
            model_name="usageminute",
            index=models.Index(fields=["pool_id", "minute"], name="budget_usage_of_pool"),
        ),
    ]
