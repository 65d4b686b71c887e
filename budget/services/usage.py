"""Usage: by minute, over a stretch of time, and in all."""

from datetime import datetime, timedelta
from typing import Any

from budget.ledger.history import UsageHistory, history
from budget.ledger.tally import ClassTally
from budget.ledger.totals import totals
from budget.ledger.usage import minutes
from budget.ledger.view import look
from budget.services.asking import existing_pool


def usage(
    pool: str, start: datetime, end: datetime, workload_class: str | None = None
) -> list[dict[str, Any]]:
    """What each class did in each minute that overlaps `start` to `end`, the open one too.

    `utilisation_percent` is what the class took of the leading limit, net of refunds, in
    percent of what that limit allows the whole pool in a minute, and 0 where refunds of
    earlier minutes' calls outweigh it; `shed_rate` is the part of its calls that were shed,
    0 to 1. Either is None where it would divide by nothing.
    Raises UnknownPool.
    """
    return minutes(existing_pool(pool), start, end, workload_class)


def usage_history(pool: str, start: datetime, end: datetime, step: timedelta) -> UsageHistory:
    """What each class did from `start` to before `end`, in steps, the open minute included.

    Steps are whole minutes, the first begins at `start`, a whole minute. Steps of whole hours
    are read from sums by the hour, and `start` is then a whole hour. Raises UnknownPool.
    """
    return history(existing_pool(pool), start, end, step)


def usage_totals(pool: str) -> dict[str, ClassTally]:
    """What each class did since the pool was made, exact to the last commit; it never falls.

    Tokens used are the exception: `corrected_tokens` are what was taken back of them.
    Raises UnknownPool.
    """
    pool_id = existing_pool(pool)
    return totals(pool_id, look(pool_id))
