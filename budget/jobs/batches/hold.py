"""Who works on a batch: one thread of one worker at a time, and nobody for ever."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, InterfaceError, connections
from django.db.models import Q, QuerySet
from django.utils import timezone

from budget import conf
from budget.models import JobBatch

logger = logging.getLogger(__name__)

HOLD = timedelta(minutes=10)
"""How long a batch stays with a worker that died."""
BEATS = 5
"""How often in that time a batch is held anew while its file is on the way."""
CLOSED = (JobBatch.State.DONE, JobBatch.State.FAILED)
GROWTH, MOST_GROWN = 1.5, 20
LONGEST_SECONDS, LONGEST_ASKED = 300.0, 3600.0
"""Between two looks; the latter if the provider asks for it."""


class HoldLost(Exception):
    """Somebody else has the batch by now."""


def due(now: datetime) -> "QuerySet[JobBatch]":
    """Batches worth somebody's attention that nobody has, the longest due first."""
    free = Q(held_until=None) | Q(held_until__lt=now)
    waiting = JobBatch.objects.exclude(state__in=CLOSED).filter(free, next_look_at__lte=now)
    return waiting.order_by("next_look_at")


def take() -> JobBatch | None:
    """A due batch to oneself, if there is one that nobody else is quicker to take."""
    now = timezone.now()
    for batch in due(now)[:10]:
        held = now + HOLD
        if due(now).filter(pk=batch.pk, state=batch.state).update(held_until=held):
            return JobBatch.objects.get(pk=batch.pk)
    return None


def keep(batch: JobBatch, **changes: Any) -> None:
    """Write what has changed and have the batch for as long again. Raises HoldLost."""
    _write(batch, held_until=timezone.now() + HOLD, **changes)


@contextmanager
def kept(batch: JobBatch) -> Iterator[None]:
    """Have the batch for as long as the block takes, which must not write it itself.

    For what only this process's end should break off: a large file on a slow line.
    """
    done = threading.Event()
    beating = threading.Thread(target=_beat, args=(batch, done), daemon=True)
    beating.start()
    try:
        yield
    finally:
        done.set()
        beating.join()


def let_go(batch: JobBatch, **changes: Any) -> None:
    """Write what has changed; whoever comes next goes on at once. Raises HoldLost."""
    _write(batch, held_until=None, next_look_at=timezone.now(), **changes)


def rest(batch: JobBatch, at_least: float = 0, **changes: Any) -> None:
    """Leave the batch alone, longer and longer. Raises HoldLost."""
    first = conf.batch_poll_seconds()
    grown = min(first * GROWTH ** min(batch.looks, MOST_GROWN), max(first, LONGEST_SECONDS))
    seconds = timedelta(seconds=max(grown, min(at_least, LONGEST_ASKED)))
    changes = {"looks": batch.looks + 1, **changes}
    _write(batch, held_until=None, next_look_at=timezone.now() + seconds, **changes)


def _beat(batch: JobBatch, done: threading.Event) -> None:
    try:
        while not done.wait((HOLD / BEATS).total_seconds()):
            try:
                keep(batch)
            except (DatabaseError, InterfaceError) as error:
                logger.warning("Batch %s is held on to when the database answers: %s", batch, error)
                connections.close_all()
    except HoldLost:
        return  # as the next write of the block's thread will tell it
    finally:
        connections.close_all()


def _write(batch: JobBatch, **changes: Any) -> None:
    # The moment until which it is held says who holds it.
    mine = JobBatch.objects.filter(pk=batch.pk, held_until=batch.held_until)
    if not mine.update(**changes):
        raise HoldLost(f"The batch {batch.pk} is somebody else's by now.")
    for name, value in changes.items():
        setattr(batch, name, value)
