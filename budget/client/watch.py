"""Looks after calls that are under way: keeps their leases, and settles those that were dropped."""

import logging
import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol
from weakref import WeakSet

logger = logging.getLogger("budget.client")

TICK_SECONDS = 1.0


class Watched(Protocol):
    """A call that is under way."""

    @property
    def is_open(self) -> bool:
        """Whether it still is."""

    def keep_lease(self) -> None:
        """Renew its lease if it is time to."""

    def closed(self) -> None:
        """Nobody wants its answer any more."""


Dropped = tuple[Watched, Callable[[], object] | None]


class Watch:
    """Once a second renews the leases of calls that take long.

    And settles those whose answer was dropped without being closed. That is found out by the
    garbage collector, in the middle of anything; hence a queue that may be used there, and a
    thread of its own to settle in.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin afresh, as in a forked child."""
        self._guard = threading.Lock()
        self._open: WeakSet[Watched] = WeakSet()
        self._dropped: queue.SimpleQueue[Dropped] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def begin(self, call: Watched) -> None:
        """It is under way."""
        with self._guard:
            self._open.add(call)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="budget-watch", daemon=True)
                self._thread.start()

    def end(self, call: Watched) -> None:
        """It is settled."""
        with self._guard:
            self._open.discard(call)

    def drop(self, call: Watched, hang_up: Callable[[], object] | None = None) -> None:
        """Nobody has its answer any more; for finalizers.

        Its connection isn't given back by itself; `hang_up` does that, and lets the provider
        know that it may stop.
        """
        if call.is_open:
            self._dropped.put((call, hang_up))

    def settle_dropped(self, seconds: float = 0.0) -> None:
        """Settle what was dropped, once something was or so many seconds are over."""
        try:
            _end(*self._dropped.get(timeout=seconds))
            while True:
                _end(*self._dropped.get_nowait())
        except queue.Empty:
            return

    def settle_all(self) -> None:
        """Settle every call that is under way: the process ends, and threads can't be started."""
        with self._guard:
            under_way = list(self._open)
        for call in under_way:
            _end(call, None)

    def _run(self) -> None:
        while True:
            self.settle_dropped(TICK_SECONDS)
            self._keep_leases()

    def _keep_leases(self) -> None:
        with self._guard:
            under_way = list(self._open)
        for call in under_way:
            try:
                call.keep_lease()
            except Exception:
                logger.exception("A lease can't be renewed")


def _end(call: Watched, hang_up: Callable[[], object] | None) -> None:
    try:
        call.closed()
    except Exception:
        logger.exception("A call can't be settled")
    if hang_up is not None:
        with suppress(Exception):  # The connection may be gone in any way.
            hang_up()


watch = Watch()
os.register_at_fork(after_in_child=watch.forget)
