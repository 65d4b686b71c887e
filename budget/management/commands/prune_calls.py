"""Delete calls, jobs, batches and callers' reports older than BUDGET_CALL_RETENTION_DAYS.

Jobs go with their arguments and results, calls with the states and observations to re-run them
from, and with them processes that nobody has heard of for a day. What has not ended stays. Run it
once a day: nothing else deletes any of these.
"""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from budget import conf
from budget.ledger.pruning import FEWEST_DAYS, prune
from budget.management.migrated import migrated

MOST_DAYS = 36_500


class Command(BaseCommand):
    """Prunes what is too old."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        """How old is too old."""
        parser.add_argument(
            "--days",
            type=int,
            default=conf.call_retention_days(),
            help=f"how many days to keep, at least {FEWEST_DAYS}; default: the setting's",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Delete, and say how much."""
        days = options["days"]
        if days < FEWEST_DAYS:
            raise CommandError(
                f"Calls and jobs are kept for at least {FEWEST_DAYS} days: "
                "idempotency keys count for one."
            )
        if days > MOST_DAYS:
            raise CommandError(f"--days must be at most {MOST_DAYS:,}.")
        with migrated():
            gone = prune(timezone.now() - timedelta(days=days))
        self.stdout.write(
            f"Deleted {gone.calls} calls, {gone.jobs} jobs, {gone.batches} batches "
            f"and {gone.states} states."
        )
