"""The reusable Django app."""

from typing import Any

from django.apps import AppConfig
from django.core.checks import Tags, register
from django.db.models.signals import post_migrate

from budget import checks


class BudgetConfig(AppConfig):
    """Registers models, checks and signals of the app."""

    name = "budget"
    verbose_name = "Token budget"
    default_auto_field = "django.db.models.BigAutoField"

    def __init__(self, *args: Any) -> None:
        """Groups exist after every migrate.

        Said before any app is ready, and so before Django's own handler makes permissions.
        """
        super().__init__(*args)
        post_migrate.connect(_create_groups, sender=self, dispatch_uid="budget.create_groups")

    def ready(self) -> None:
        """The database is checked before every use."""
        register(checks.engine)
        register(checks.version, Tags.database)


def _create_groups(**options: Any) -> None:
    from budget.policy.groups import create_groups  # models, once apps are ready

    create_groups(**options)
