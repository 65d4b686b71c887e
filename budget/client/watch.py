"""Looks after calls that nobody else does: those that wait long, and those that were dropped."""

import os
import queue
import threading
from weakref import WeakSet

from budget.client.exchange import Exchange

TICK_SECONDS = 1.0


class Watch:
    """Once a second renews the leases of calls that wait for their answer to begin.

    And settles those whose answer was dropped without being closed. That is found out by the
    garbage collector, in the middle of anything; hence a queue that may be used there, and a
    thread of its own to settle in.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin afresh, as in a forked child."""
        self._guard = threading.Lock()
        self._waiting: WeakSet[Exchange] = WeakSet()
        self._dropped: queue.SimpleQueue[Exchange] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def begin(self, exchange: Exchange) -> None:
        """It waits for its answer."""
        with self._guard:
            self._waiting.add(exchange)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="budget-watch", daemon=True)
                self._thread.start()

    def end(self, exchange: Exchange) -> None:
        """Its answer has begun, or will not."""
        with self._guard:
            self._waiting.discard(exchange)

    def drop(self, exchange: Exchange) -> None:
        """Nobody has its answer any more; for finalizers."""
        if exchange.is_open:
            self._dropped.put(exchange)

    def settle_dropped(self, seconds: float = 0.0) -> None:
        """Settle what was dropped, once something was or so many seconds are over."""
        try:
            self._dropped.get(timeout=seconds).closed()
            while True:
                self._dropped.get_nowait().closed()
        except queue.Empty:
            return

    def _run(self) -> None:
        while True:
            self.settle_dropped(TICK_SECONDS)
            with self._guard:
                waiting = list(self._waiting)
            for exchange in waiting:
                exchange.keep_lease()
            del waiting


watch = Watch()
os.register_at_fork(after_in_child=watch.forget)
