"""Whether this cluster is being stopped, known to all its processes.

django-q lets a worker run every ticket that was fetched before, five seconds each. Told
this, a ticket starts nothing more and ends at once.
"""

from multiprocessing import RawValue

# Memory shared with forked children. Without a lock: a worker that is killed could hold it.
_stopping = RawValue("b", 0)


def announce() -> None:
    """Let no process of the cluster start any more jobs. Safe in a signal's handler."""
    _stopping.value = 1


def is_stopping() -> bool:
    """Whether the cluster is on its way out."""
    return bool(_stopping.value)
