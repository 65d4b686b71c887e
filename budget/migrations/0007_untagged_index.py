"""Untagged calls by time, and what is known of their number so far. Keeps nobody from writing.

Of those that fell into a class it isn't known how many there were: they count from now on.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

TABLES = ("budget_usageminute", "budget_usagehour", "budget_usagetotal")
COUNT_SHED = "UPDATE {table} SET untagged = offered WHERE workload_class = ''"


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("budget", "0006_callers")]

    operations = [
        *(
            migrations.RunSQL(COUNT_SHED.format(table=table), migrations.RunSQL.noop)
            for table in TABLES
        ),
        AddIndexConcurrently(
            model_name="call",
            index=models.Index(
                condition=models.Q(("untagged", True)),
                fields=["pool_id", "offered_at"],
                include=(
                    "source",
                    "key_prefix",
                    "workload_class",
                    "state",
                    "input_tokens",
                    "output_tokens",
                ),
                name="budget_untagged",
            ),
        ),
    ]
