"""Run queued jobs: a cluster of workers, until SIGTERM or Ctrl-C."""

import os
import sys
from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError, CommandParser

from budget import conf


class Command(BaseCommand):
    """Starts one of the clusters of `BUDGET_CLUSTERS`."""

    help = (
        "Run the jobs of one cluster's tiers, until SIGTERM or Ctrl-C: then no more are started, "
        "and those that run are waited for. Start as many as you like, on any host."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """One argument."""
        parser.add_argument("cluster", help="A name of BUDGET_CLUSTERS. Example: near_line.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Become that cluster."""
        name = options["cluster"]
        if name not in conf.clusters():
            known = ", ".join(conf.clusters()) or "none"
            raise CommandError(f"BUDGET_CLUSTERS has no cluster {name!r}. It has: {known}.")
        if not apps.is_installed("django_q"):
            raise CommandError("Jobs run on django-q2: add 'django_q' to INSTALLED_APPS.")
        if os.environ.get("Q_CLUSTER_NAME") != name:
            # django-q read it as it was imported, so it takes a new start.
            os.environ["Q_CLUSTER_NAME"] = name
            os.execv(sys.executable, sys.orig_argv)
        from budget.jobs.cluster import JobCluster  # needs django_q

        if code := JobCluster().run():
            raise CommandError(f"The cluster's sentinel ended with exit code {code}.")
