"""A thread that runs a process's errands to the service, in order, and again when it is back."""

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from budget.client.away import Away as WhileAway
from budget.client.book import Book
from budget.client.breaker import Breaker
from budget.client.errands import Errand, Observe
from budget.client.link import Away, Link
from budget.client.terms import terms_of

logger = logging.getLogger("budget.client")

HEARTBEAT_SECONDS = 30.0
MOST_ERRANDS = 10_000
"""Errands that wait; beyond it the oldest are dropped, and their leases run out."""
OK = 200


class Courier:
    """Runs errands, tells the service that this process is there, and looks whether it is back.

    One thread, started by the first thing there is to do. It ends with the process.
    """

    def __init__(
        self, link: Link, breaker: Breaker, book: Book, away: WhileAway, caller: dict[str, Any]
    ) -> None:
        self._link, self._breaker, self._book, self._away = link, breaker, book, away
        self._caller = caller
        """`process` and `name`, as `POST /callers` takes them."""
        self.forget()

    def forget(self) -> None:
        """Begin afresh, as in a forked child: what waits is the parent's."""
        self._change = threading.Condition()
        self._errands: deque[Errand] = deque()
        self._beats: dict[str, float] = {}
        """When each pool is to be heard of next."""
        self._thread: threading.Thread | None = None
        self._busy = False
        self._closing = False
        self._dropped = 0

    def put(self, errand: Errand) -> None:
        """Run an errand as soon as can be."""
        with self._change:
            if len(self._errands) >= MOST_ERRANDS:
                self._errands.popleft()
                self._dropped += 1
            self._errands.append(errand)
            self._wake()

    def know(self, pool: str) -> None:
        """Keep a pool's terms, from now on."""
        if pool not in self._beats:
            with self._change:
                self._beats.setdefault(pool, 0.0)
                self._wake()

    def look(self) -> None:
        """There is something to look after: the service was found away."""
        with self._change:
            self._wake()

    def flush(self, seconds: float) -> bool:
        """Wait until all errands are run, but no longer. Gives whether they were."""
        with self._change:
            return self._change.wait_for(lambda: not self._errands and not self._busy, seconds)

    def close(self, seconds: float) -> None:
        """Run what waits, for so many seconds at most, and end the thread."""
        if self._thread is None:
            return
        self._tell_away(seconds)
        self.flush(seconds)
        with self._change:
            self._closing = True
            self._change.notify_all()
        self._thread.join(seconds)

    def _tell_away(self, seconds: float) -> None:
        if self._breaker.is_open or not self._book.pools:
            return
        with self._change:
            for pool in self._book.pools:
                self._beats[pool] = 0.0
            self._change.notify_all()
            told: Callable[[], bool] = lambda: not self._book.pools  # noqa: E731
            self._change.wait_for(told, seconds)

    def _wake(self) -> None:
        if sys.is_finalizing():
            return  # to start a thread now is to wait for it for ever
        if self._thread is None or not self._thread.is_alive():
            self._closing = False
            self._thread = threading.Thread(target=self._run, name="budget-courier", daemon=True)
            self._thread.start()
        self._change.notify_all()

    def _run(self) -> None:
        while step := self._next_step():
            try:
                step()
            except Away as away:
                self._lost(away)
            except Exception:
                # A fault of ours must not end what everybody's settlements depend on.
                logger.exception("An errand to the budget service failed")
            finally:
                with self._change:
                    self._busy = False
                    self._change.notify_all()

    def _next_step(self) -> Callable[[], None] | None:
        """What is to be done next; None once there is nothing and nobody any more."""
        with self._change:
            while not self._closing:
                step, seconds = self._due()
                if step is not None:
                    self._busy = True
                    return step
                self._change.wait(seconds)
            return None

    def _due(self) -> tuple[Callable[[], None] | None, float | None]:
        """What is due, or in how many seconds something will be."""
        now = time.monotonic()
        until_look = self._breaker.seconds_until_look
        if until_look is not None:
            return (self._look, None) if until_look <= 0 else (None, until_look)
        pool = min(self._beats, key=lambda name: self._beats[name], default=None)
        if pool is not None and self._beats[pool] <= now:
            return (lambda: self._beat(pool)), None
        if self._errands:
            errand = self._errands.popleft()
            return (lambda: self._do(errand)), None
        return None, None if pool is None else self._beats[pool] - now

    def _do(self, errand: Errand) -> None:
        try:
            errand.run(self._link)
        except Away:
            if not isinstance(errand, Observe):  # which would be stale
                with self._change:
                    self._errands.appendleft(errand)
            raise

    def _look(self) -> None:
        pools = sorted(self._book.pools | self._beats.keys())
        for pool in pools:
            self._beat(pool)
        if self._breaker.close():
            dropped, self._dropped = self._dropped, 0
            lost = f" {dropped} errands were lost meanwhile." if dropped else ""
            logger.warning("The budget service at %s is back.%s", self._link.url, lost)

    def _beat(self, pool: str) -> None:
        """Say that this process is there and what it decided alone; learn the pool's terms."""
        self._beats[pool] = time.monotonic() + HEARTBEAT_SECONDS
        rows = self._book.rows(pool)
        reply = self._link.post("callers", {**self._caller, "pool": pool, "away": rows})
        if reply.status != OK:
            said = reply.body.get("detail", reply.status)
            logger.warning("The budget service says of %s, told %s: %s", pool, rows, said)
            if rows:
                # Told again they would be refused again, and with them all there is to say.
                self._book.taken(rows)
                self._beats[pool] = 0.0
            return
        self._book.taken(rows)
        try:
            self._away.learn(pool, terms_of(reply.body))
        except (KeyError, TypeError, ValueError) as error:
            logger.warning("The terms of %s can't be read: %r", pool, error)

    def _lost(self, away: Away) -> None:
        if self._breaker.is_open:
            self._breaker.still_away()
        else:
            self.found_away(away)

    def found_away(self, away: Away) -> None:
        """Whoever found the service away says so."""
        if self._breaker.trip():
            logger.warning("The budget service at %s is away: %s.", self._link.url, away)
            self.look()
