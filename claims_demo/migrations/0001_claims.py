"""The claims platform's tables."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.RunSQL(
            "CREATE SEQUENCE claims_demo_claim_number START 4601 MAXVALUE 999999 CYCLE",
            "DROP SEQUENCE claims_demo_claim_number",
        ),
        migrations.CreateModel(
            name="Claim",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "number",
                    models.CharField(
                        db_default=models.Func(
                            output_field=models.CharField(),
                            template="'C-' || to_char(now(), 'YYYY-') || lpad(nextval('claims_demo_claim_number')::text, 6, '0')",  # noqa: E501
                        ),
                        editable=False,
                        max_length=20,
                        unique=True,
                    ),
                ),
                ("claimant", models.CharField(max_length=100)),
                ("place", models.CharField(max_length=100)),
                ("insured", models.CharField(max_length=100)),
                ("amount", models.PositiveIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("hail", "Hail"),
                            ("theft", "Theft"),
                            ("collision", "Collision"),
                            ("water", "Water"),
                            ("fire", "Fire"),
                            ("glass", "Glass"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "priority",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "Urgent"), (2, "Normal"), (3, "Low")], default=2
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("new", "New"),
                            ("assessing", "Assessing"),
                            ("waiting", "Waiting for papers"),
                            ("settled", "Settled"),
                            ("declined", "Declined"),
                        ],
                        default="new",
                        max_length=10,
                    ),
                ),
                ("description", models.TextField()),
                ("opened_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("score", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("scored_at", models.DateTimeField(blank=True, null=True)),
                (
                    "category",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("routine", "Routine"),
                            ("inspection", "Needs an inspection"),
                            ("papers", "Papers missing"),
                            ("recourse", "Recourse possible"),
                            ("large_loss", "Large loss"),
                            ("doubtful", "Doubtful"),
                        ],
                        max_length=20,
                    ),
                ),
                ("classified_at", models.DateTimeField(blank=True, null=True)),
                ("classification_job", models.UUIDField(blank=True, editable=False, null=True)),
            ],
            options={
                "ordering": ["priority", "-changed_at"],
                "permissions": [("classify_claims", "Can run the nightly classification")],
                "indexes": [
                    models.Index(
                        fields=["priority", "-changed_at"], name="claims_demo_by_priority"
                    ),
                    models.Index(
                        condition=models.Q(("classification_job__isnull", False)),
                        fields=["classification_job"],
                        name="claims_demo_in_classification",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ClaimEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("reported", "Reported"),
                            ("call", "Call"),
                            ("document", "Document"),
                            ("estimate", "Estimate"),
                            ("inspection", "Inspection"),
                            ("decision", "Decision"),
                        ],
                        max_length=10,
                    ),
                ),
                ("text", models.TextField()),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "claim",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="claims_demo.claim",
                    ),
                ),
            ],
            options={
                "ordering": ["at", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Question",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("asked_by", models.CharField(max_length=150)),
                ("asked_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("text", models.CharField(max_length=500)),
                ("answer", models.TextField()),
                ("seconds", models.FloatField()),
                ("input_tokens", models.PositiveIntegerField()),
                ("output_tokens", models.PositiveIntegerField()),
                (
                    "claim",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="questions",
                        to="claims_demo.claim",
                    ),
                ),
            ],
            options={
                "ordering": ["asked_at", "pk"],
            },
        ),
    ]
