"""How far what a caller tells of the provider is believed, if its key is bound to classes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("budget", "0009_excused")]

    operations = [
        migrations.AddField("observation", "strictest", models.TextField(db_default="")),
    ]
