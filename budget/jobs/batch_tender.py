"""A thread of its own for the provider's batches: big files would hold up the sweeper."""

import logging
import threading
import time

from django.db import connections
from django.utils import timezone

from budget.jobs.batches import runner
from budget.jobs.tickets import UNREACHABLE

logger = logging.getLogger(__name__)

WORK_SECONDS = 5.0
"""For about how long batches are worked on at a time."""
EASE = 20
"""How many times as long as a look took nobody looks again: many thousand may wait."""


class BatchTender:
    """Has what is due about batches done, in one thread at a time."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._looks_at = 0.0

    def tend(self) -> None:
        """Begin with what is due, unless that is being done, or this process ends."""
        at_work = self._thread is not None and self._thread.is_alive()
        if at_work or not threading.main_thread().is_alive() or not self._is_due():
            return
        # No daemon: a process ends when the step it is at is done.
        self._thread = threading.Thread(target=_work, name="budget-batches")
        self._thread.start()

    def _is_due(self) -> bool:
        began = time.monotonic()
        if began < self._looks_at:
            return False
        due = runner.due(timezone.now())
        self._looks_at = began + EASE * (time.monotonic() - began)
        return due


def _work() -> None:
    try:
        runner.work(WORK_SECONDS)
    except UNREACHABLE as error:
        logger.warning("Batches are gone on with when the database answers: %s", error)
    except Exception:
        logger.exception("Batches are gone on with.")
    finally:
        connections.close_all()
