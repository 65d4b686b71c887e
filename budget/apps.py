"""The reusable Django app."""

from django.apps import AppConfig


class BudgetConfig(AppConfig):
    """Registers models, checks and signals of the app."""

    name = "budget"
    verbose_name = "Token budget"
    default_auto_field = "django.db.models.BigAutoField"
