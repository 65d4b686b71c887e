"""Ends a process whose parent is gone: nobody else could, and it would go on for ever."""

import logging
import os
import signal
import threading
import time
from multiprocessing import parent_process

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.5


def end_if_orphan() -> None:
    """End this process, which multiprocessing started, if that one is gone."""
    parent = parent_process()
    if parent is not None and os.getppid() != parent.pid:
        logger.error("Process %d ends: the one that started it is gone.", os.getpid())
        os.kill(os.getpid(), signal.SIGKILL)


def end_with_parent() -> None:
    """Have a thread look, for as long as this process lives."""
    threading.Thread(target=_watch, name="budget-parent", daemon=True).start()


def _watch() -> None:
    while True:
        end_if_orphan()
        time.sleep(LOOK_SECONDS)
