"""The reusable Django app."""

from django.apps import AppConfig
from django.core.checks import Tags, register
from django.db.models.signals import post_migrate

from budget import checks


class BudgetConfig(AppConfig):
    """Registers models, checks and signals of the app."""

    name = "budget"
    verbose_name = "Token budget"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """The database is checked before every use, and groups exist after every migrate."""
        from budget.policy.groups import create_groups

        register(checks.engine)
        register(checks.version, Tags.database)
        post_migrate.connect(create_groups, sender=self, dispatch_uid="budget.create_groups")
