"""When the ledger took in what callers report of their time alone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("budget", "0008_observations")]

    operations = [
        migrations.AddField(
            "awayreport", "estimated_input_tokens", models.BigIntegerField(default=0)
        ),
        migrations.AddField(
            "awayreport", "estimated_output_tokens", models.BigIntegerField(default=0)
        ),
        migrations.AddField("awayreport", "at", models.DateTimeField(null=True)),
        migrations.AddField("awayreport", "seq", models.BigIntegerField(null=True)),
        migrations.AddField("awayreport", "position", models.IntegerField(null=True)),
        migrations.AddIndex(
            "awayreport",
            models.Index(fields=["pool_id", "seq"], name="budget_away_in_order"),
        ),
    ]
