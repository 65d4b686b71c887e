"""Frees the lock with which a killed worker would keep all others from their tickets."""

import logging
from multiprocessing import current_process
from multiprocessing.queues import Queue
from typing import Any

logger = logging.getLogger(__name__)

PATIENCE = 3
"""Checks in a row that find the lock held by nobody before it is released."""


class QueueLock:
    """The read lock of the queue through which django-q gives its workers their tickets.

    A worker holds it as long as it waits for a ticket. Killed then, it takes the lock along:
    the other workers wait for ever, and the cluster can't even be stopped. It is as good as
    certain when there is a ticket to read, the lock is held, and yet nobody reads.

    Only multiprocessing's own attributes lead there.
    """

    def __init__(self, queue: Any) -> None:
        self._queue = queue
        self._unread = 0

    @classmethod
    def of_worker(cls) -> "QueueLock":
        """That of the worker that this process is."""
        arguments = getattr(current_process(), "_args", ())
        return cls(next((one for one in arguments if isinstance(one, Queue)), None))

    def check(self) -> None:
        """Release the lock if it was found with a ticket unread time after time."""
        if self._queue is None or not self._queue._reader.poll():
            self._unread = 0
        elif self._queue._rlock.acquire(block=False):
            self._queue._rlock.release()
            self._unread = 0
        else:
            self._unread += 1
        if self._unread >= PATIENCE:
            logger.error("A worker was killed as it waited for a ticket: its lock is released.")
            self._unread = 0
            self._queue._rlock.release()
