"""Threads whose database connections may be cut."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import connections

T = TypeVar("T")
P = ParamSpec("P")


class RenewingExecutor(ThreadPoolExecutor):
    """Each thread keeps its connection from step to step, until one of them fails.

    It may have failed for that; the next step makes a connection anew.
    """

    def submit(self, step: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a step in one of the threads."""
        return super().submit(_renewing, step, *args, **kwargs)


def _renewing(step: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return step(*args, **kwargs)
    except Exception:
        connections.close_all()
        raise
