"""The reusable Django app."""

from importlib import import_module
from typing import Any

from django.apps import AppConfig, apps
from django.core.checks import Tags, register
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules

from budget import checks


class BudgetConfig(AppConfig):
    """Registers models, checks, tasks and signals of the app."""

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
        """The database is checked before every use, tasks are known, and jobs find workers.

        And whatever serves Prometheus' default registry serves the ledger's metrics.
        """
        register(checks.engine)
        register(checks.version, Tags.database)
        register(checks.clusters)
        autodiscover_modules("tasks")
        import_module("budget.jobs.llm")  # the ready task; models, once apps are ready
        import_module("budget.metrics.collector").register()
        if apps.is_installed("django_q"):
            _connect_workers()


def _create_groups(**options: Any) -> None:
    from budget.policy.groups import create_groups  # models, once apps are ready

    create_groups(**options)


def _connect_workers() -> None:
    from django_q.signals import post_spawn  # models, once apps are ready

    from budget.jobs.doorbell import ring
    from budget.jobs.sweeper import start_sweeper
    from budget.signals import enqueued

    enqueued.connect(ring, dispatch_uid="budget.ring")
    post_spawn.connect(start_sweeper, dispatch_uid="budget.start_sweeper")
