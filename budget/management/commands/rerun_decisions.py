"""Decide a pool's stored calls once more and print every decision that comes out otherwise.

The record explains itself: from a stored state and the sequence of operations after it, the
rule must come to the same decisions and the same balances. A difference means that rows were
changed by hand, or that the rule was changed since. Ends with status 1 if there is one.
"""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, transaction
from django.utils import timezone

from budget.ledger.balances import UnreadableBalances, decode_balances
from budget.ledger.errors import LedgerUnavailable
from budget.ledger.rerun import Difference, Rerun, rerun
from budget.management.migrated import migrated
from budget.models import PolicyRevision, Pool, PoolState

UNREADABLE = (UnreadableBalances, LedgerUnavailable, PolicyRevision.DoesNotExist)

ONE_MOMENT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"

MOST_MINUTES = 366 * 24 * 60


class Command(BaseCommand):
    """Re-runs the newest decisions of one pool; changes nothing."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        """Which decisions."""
        parser.add_argument("pool", help="slug of the pool")
        parser.add_argument(
            "--minutes", type=int, default=10, help="how far back to begin; default: 10"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Decide again, and compare."""
        if not 1 <= options["minutes"] <= MOST_MINUTES:
            raise CommandError(f"--minutes must be between 1 and {MOST_MINUTES:,}.")
        with migrated():
            pool = Pool.objects.filter(slug=options["pool"]).first()
        if pool is None:
            raise CommandError(f"There is no pool {options['pool']!r}.")
        with transaction.atomic(), connection.cursor() as cursor:
            # The ledger goes on meanwhile: everything is read as of one moment.
            cursor.execute(ONE_MOMENT)
            try:
                again, same_balances = _again(pool.pk, options["minutes"])
            except UNREADABLE as error:
                raise CommandError(f"The states cannot be read. {error}") from error
        for difference in again.differences:
            self.stdout.write(_in_words(difference))
        if again.differences:
            raise CommandError(f"{len(again.differences)} of {again.decisions} decisions differ.")
        if not same_balances:
            raise CommandError(f"{again.decisions} decisions are the same, the balances are not.")
        self.stdout.write(f"{again.decisions} decisions and the balances after them are the same.")


def _again(pool_id: int, minutes: int) -> tuple[Rerun, bool]:
    states = PoolState.objects.filter(pool_id=pool_id)
    newest = states.order_by("seq").last()
    if newest is None:
        raise CommandError("Nothing was decided on this pool yet.")
    kept = states.filter(kept=True).order_by("seq")
    begin = timezone.now() - timedelta(minutes=minutes)
    first = kept.filter(at__lte=begin).last() or kept.first() or newest
    again = rerun(pool_id, first.seq)
    return again, again.balances == decode_balances(bytes(newest.state)).pool


def _in_words(difference: Difference) -> str:
    call, again = difference
    before = "admitted" if call.state != call.State.SHED else f"shed, {call.reason}"
    after = "admitted" if again.admitted else f"shed, {again.reason}"
    return f"{call.id} ({call.workload_class or 'untagged'}): {before}; again: {after}"
