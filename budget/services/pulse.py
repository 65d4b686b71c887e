"""Keeps what callers in this process need to know of the ledger's pools, apart from calls."""

import logging
import os
import socket
import threading
import time
from collections import deque
from uuid import UUID

import msgspec
from django.db import connections
from django.db.utils import Error as DatabaseError

from budget.client.away import Away
from budget.client.book import Book
from budget.client.breaker import Breaker
from budget.client.courier import HEARTBEAT_SECONDS
from budget.client.terms import terms_of
from budget.ledger.errors import BudgetError, UnknownPool
from budget.providers.standing import Standing
from budget.services.away import AwayReport
from budget.services.callers import hear
from budget.services.observations import observe

logger = logging.getLogger(__name__)

MOST_STANDINGS = 100


class Pulse:
    """A thread that says that this process is there, and looks whether the ledger is back.

    On connections of its own, which it closes: whoever makes a call may be in a transaction.
    """

    def __init__(self, process: UUID, breaker: Breaker, book: Book, away: Away) -> None:
        self._process = process
        self._breaker, self._book, self._away = breaker, book, away
        self._name = f"{socket.gethostname()[:150]}:{os.getpid()}"
        self._change = threading.Condition()
        self._beats: dict[str, float] = {}
        self._standings: deque[tuple[str, Standing, float]] = deque(maxlen=MOST_STANDINGS)
        self._thread: threading.Thread | None = None

    def know(self, pool: str) -> None:
        """Keep a pool's terms, from now on."""
        if pool not in self._beats:
            with self._change:
                self._beats.setdefault(pool, 0.0)
                self._wake()

    def look(self) -> None:
        """The ledger was found away."""
        with self._change:
            self._wake()

    def observe(self, pool: str, standing: Standing) -> None:
        """Tell the ledger what the provider said."""
        with self._change:
            self._standings.append((pool, standing, time.monotonic()))
            self._wake()

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="budget-pulse", daemon=True)
            self._thread.start()
        self._change.notify()

    def _run(self) -> None:
        while True:
            with self._change:
                while (seconds := self._seconds()) > 0:
                    self._change.wait(seconds)
            try:
                self._step()
            except (BudgetError, DatabaseError) as error:
                self._lost(error)
            except Exception:
                logger.exception("The budget's ledger can't be told of")
            finally:
                connections.close_all()

    def _seconds(self) -> float:
        """Until there is something to do."""
        until_look = self._breaker.seconds_until_look
        if until_look is not None:
            return until_look
        if self._standings:
            return 0.0
        return min(self._beats.values()) - time.monotonic()

    def _step(self) -> None:
        if self._breaker.is_open:
            for pool in list(self._beats):
                self._beat(pool)
            if self._breaker.close():
                logger.warning("The ledger is back.")
        elif self._standings:
            pool, standing, at = self._standings.popleft()
            observe(pool, standing, round(1000 * (time.monotonic() - at)))
        else:
            self._beat(min(self._beats, key=lambda name: self._beats[name]))

    def _beat(self, pool: str) -> None:
        self._beats[pool] = time.monotonic() + HEARTBEAT_SECONDS
        rows = self._book.rows(pool)
        reports = msgspec.convert(rows, list[AwayReport])
        try:
            told = hear(pool, self._process, self._name, reports)
        except UnknownPool as error:
            logger.warning("%s", error)
            return
        self._book.taken(rows)
        self._away.learn(pool, terms_of(msgspec.to_builtins(told)))

    def _lost(self, error: Exception) -> None:
        if self._breaker.is_open:
            self._breaker.still_away()
        else:
            logger.warning("The budget's ledger: %s", error)
