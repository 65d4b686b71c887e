"""Reads the ledger for a scrape, and never waits long for it."""

import logging
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Thread

from django.db import Error, connections

from budget import services
from budget.models import Pool
from budget.services import BudgetError, PoolSnapshot, UnknownPool

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 2.0
"""How long a scrape waits for the ledger; Prometheus itself by default waits for 10."""
MOST_READERS = 4
"""Threads that read at once: a database that hangs must not gather ever more of them."""

THREAD = "budget-metrics"

_readers = BoundedSemaphore(MOST_READERS)


def read_pools() -> list[PoolSnapshot] | None:
    """Every pool; None if the ledger didn't answer in time.

    In a thread and on a connection of its own: what the database's driver waits for can't be
    cut short.
    """
    if not _readers.acquire(blocking=False):
        return None
    answer: SimpleQueue[list[PoolSnapshot] | None] = SimpleQueue()
    Thread(target=_read_into, args=(answer,), daemon=True, name=THREAD).start()
    with suppress(Empty):
        return answer.get(timeout=PATIENCE_SECONDS)
    logger.warning("The ledger did not answer a scrape within %g s.", PATIENCE_SECONDS)
    return None


def _read_into(answer: SimpleQueue[list[PoolSnapshot] | None]) -> None:
    pools = None
    try:
        pools = list(_pools())
    except (Error, BudgetError) as error:
        logger.warning("The ledger did not answer a scrape: %s", error)
    except Exception:
        logger.exception("The ledger could not be read for a scrape.")
    finally:
        connections.close_all()
        _readers.release()
        answer.put(pools)


def _pools() -> Iterator[PoolSnapshot]:
    for slug in Pool.objects.values_list("slug", flat=True):
        # One that is deleted meanwhile has nothing to tell.
        with suppress(UnknownPool):
            yield services.snapshot(slug)
