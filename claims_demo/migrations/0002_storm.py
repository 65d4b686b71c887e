from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("claims_demo", "0001_claims"),
    ]

    operations = [
        migrations.CreateModel(
            name="StormSecond",
            fields=[
                ("at", models.DateTimeField(primary_key=True, serialize=False)),
                ("strength", models.PositiveSmallIntegerField()),
                ("waits_ms", models.JSONField(default=list)),
                ("counts", models.JSONField(default=dict)),
            ],
        ),
        migrations.CreateModel(
            name="StormControl",
            fields=[
                ("only", models.BooleanField(default=True, primary_key=True, serialize=False)),
                ("strength", models.PositiveSmallIntegerField(null=True)),
                ("chosen_by", models.TextField(blank=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("only", True)), name="claims_demo_one_control"
                    )
                ],
            },
        ),
    ]
