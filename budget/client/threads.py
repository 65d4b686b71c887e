"""Lets threads and thread pools go on with the workload of whoever gives them work.

Python carries context variables into tasks but not, before 3.14, into threads. So the two
places where threads get work are wrapped; only the workload goes along, nothing else does.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import wraps
from typing import Any

from budget.client.carried import Workload, current, resumed

_guard = threading.Lock()
_follows = False


def follow() -> None:
    """From now on, threads follow. Once per process; again changes nothing."""
    global _follows
    if _follows:
        return  # a lock that was held as a process forked is never given back
    with _guard:
        if not _follows:
            _follows = True
            threading.Thread.start = _starting(  # type: ignore[assignment, method-assign]
                threading.Thread.start
            )
            ThreadPoolExecutor.submit = _submitting(ThreadPoolExecutor.submit)  # type: ignore[method-assign]


def _starting(start: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    @wraps(start)
    def started(thread: threading.Thread) -> None:
        begun = current()
        if begun is not None:
            run = thread.run
            thread.run = lambda: _run(begun, run)  # type: ignore[method-assign]
        start(thread)

    return started


def _submitting(submit: Callable[..., Future[Any]]) -> Callable[..., Future[Any]]:
    @wraps(submit)
    def submitted(pool: ThreadPoolExecutor, function: Any, /, *args: Any, **kw: Any) -> Future[Any]:
        # Always, since the pool's threads were perhaps started in somebody else's block.
        return submit(pool, _run, current(), function, *args, **kw)

    return submitted


def _run(begun: Workload | None, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with resumed(begun):
        return function(*args, **kwargs)
