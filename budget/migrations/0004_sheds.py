"""Sheds by time; the index is built without keeping anybody from writing calls."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("budget", "0003_usage_history")]

    operations = [
        AddIndexConcurrently(
            model_name="call",
            index=models.Index(
                condition=models.Q(("reason", ""), _negated=True),
                fields=["pool_id", "offered_at"],
                include=("workload_class", "reason", "source", "key_prefix"),
                name="budget_sheds",
            ),
        ),
    ]
