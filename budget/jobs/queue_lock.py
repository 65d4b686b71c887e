"""Frees the lock with which a killed reader would keep all others from a queue."""

import logging
import os
import time
from multiprocessing.connection import Connection
from typing import Any

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
PATIENCE = 4
"""Looks in a row that find the lock held by nobody before it is released."""


class QueueLock:
    """The read lock of one of the queues between the processes of a cluster.

    A process holds it as long as it waits for something to read. Killed then, it takes the
    lock along: the others wait for ever, and the cluster can't even be stopped. It is as good
    as certain when there is something to read, the lock is held, and yet nobody reads.

    Only multiprocessing's own attributes lead there.
    """

    def __init__(self, queue: Any, name: str) -> None:
        self._lock = queue._rlock
        # An end of its own: the sentinel closes the queue before the last has read from it.
        self._reader = Connection(os.dup(queue._reader.fileno()), writable=False)
        self._name = name
        self._look_at = 0.0
        self._unread = 0

    def check(self) -> None:
        """Release the lock if it was found with something unread time after time."""
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + LOOK_SECONDS
        if not self._reader.poll():
            self._unread = 0
        elif self._lock.acquire(block=False):
            self._lock.release()
            self._unread = 0
        else:
            self._unread += 1
        if self._unread >= PATIENCE:
            logger.error("A process was killed as it waited for %s: its lock is freed.", self._name)
            self._unread = 0
            self._lock.release()
