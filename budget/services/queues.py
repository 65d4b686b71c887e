"""Queues as producers look at them."""

import time

from budget.ledger.errors import UnknownClass
from budget.ledger.job_operations import QueueView
from budget.ledger.view import look, queue_views
from budget.services.asking import existing_pool


def queues(pool: str) -> dict[str, QueueView]:
    """The queue of each near-line and bulk class on a pool. Raises UnknownPool.

    Also of a class that was made interactive while jobs waited: nobody takes them any more.
    """
    return queue_views(look(existing_pool(pool)))


def wait_until_green(
    pool: str,
    workload_class: str,
    timeout_seconds: float | None = None,
    poll_seconds: float = 1.0,
) -> bool:
    """Wait until a class's queue takes jobs freely; False if it didn't within the timeout.

    For producers that come by the clock: pause before being refused. Raises UnknownPool,
    UnknownClass, LedgerUnavailable.
    """
    until = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    while True:
        view = queues(pool).get(workload_class)
        if view is None:
            raise UnknownClass(f"There is no queued workload class {workload_class!r}.")
        if view.state == "green":
            return True
        pause = poll_seconds
        if until is not None:
            pause = min(pause, until - time.monotonic())
        if pause <= 0:
            return False
        time.sleep(pause)
