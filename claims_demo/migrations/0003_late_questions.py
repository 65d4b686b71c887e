from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("claims_demo", "0002_storm"),
    ]

    operations = [
        migrations.AddField(
            model_name="stormsecond",
            name="late_ms",
            field=models.JSONField(default=list),
        ),
    ]
