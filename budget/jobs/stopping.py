"""Whether this cluster is being stopped, known to all its processes.

django-q lets a worker run every ticket that was fetched before, five seconds each. Told
this, a ticket starts nothing more and ends at once.
"""

import time
from multiprocessing import RawValue

LOOK_SECONDS = 0.1

# Memory shared with forked children. Without a lock: a process that is killed could hold it.
_stopping = RawValue("b", 0)


def announce() -> None:
    """Let no process of the cluster start any more jobs. Safe in a signal's handler."""
    _stopping.value = 1


def is_stopping() -> bool:
    """Whether the cluster is on its way out."""
    return bool(_stopping.value)


def wait(seconds: float) -> bool:
    """Wait until it is, but no longer than that; whether it is."""
    until = time.monotonic() + seconds
    while not is_stopping() and (left := until - time.monotonic()) > 0:
        time.sleep(min(left, LOOK_SECONDS))
    return is_stopping()


class StopEvent:
    """The same as the event with which django-q's sentinel is told."""

    is_set = staticmethod(is_stopping)
    wait = staticmethod(wait)
