"""Delete calls older than BUDGET_CALL_RETENTION_DAYS, and the states to re-run them from."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from budget import conf
from budget.ledger.pruning import prune


class Command(BaseCommand):
    """Prunes what is too old; meant to run once a day."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        """How old is too old."""
        parser.add_argument("--days", type=int, default=conf.call_retention_days())

    def handle(self, *args: Any, **options: Any) -> None:
        """Delete, and say how much."""
        calls, states = prune(timezone.now() - timedelta(days=options["days"]))
        self.stdout.write(f"Deleted {calls} calls and {states} states.")
