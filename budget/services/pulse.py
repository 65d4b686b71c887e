"""Keeps what callers in this process need to know of a pool, apart from their calls."""

import logging
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

import msgspec
from django.db import connections
from django.db.utils import Error as DatabaseError

from budget.client.away import Away
from budget.client.book import Book
from budget.client.breaker import Breaker
from budget.client.service import OBSERVE_SECONDS
from budget.client.terms import terms_of
from budget.ledger import pools
from budget.ledger.errors import (
    BudgetError,
    Implausible,
    LedgerUnavailable,
    UnknownCall,
    UnknownPool,
)
from budget.ledger.ids import new_id
from budget.ledger.operations import Renew
from budget.ledger.writers import answer_of, patience
from budget.providers.standing import Standing
from budget.services.asking import submitted
from budget.services.away import AwayReport
from budget.services.callers import hear
from budget.services.observations import MAX_AGE_MS, observe

logger = logging.getLogger(__name__)

BEAT_SECONDS = 30.0
"""A third of the time for which a process counts after it was heard of."""
WAIT_SECONDS = 0.5
"""How long the ledger is waited for before it counts as away."""
UNKNOWN_SECONDS = 1.0
"""For how long a pool that isn't there isn't looked for again."""
MOST_STANDINGS = 100


class Pulse:
    """A thread that says that this process calls a pool, and looks whether its ledger is back.

    On connections of its own, which it closes: whoever makes a call may be in a transaction.
    It ends when it is closed, and when there is no such pool.
    """

    def __init__(self, pool: str, process: UUID, book: Book, away: Away) -> None:
        self.breaker = Breaker()
        self.lease_seconds: Mapping[str, float] = {}
        """For how long a call counts as under way, by class."""
        self._pool, self._process = pool, process
        self._name = f"{socket.gethostname()[:150]}:{os.getpid()}"
        self._book, self._away = book, away
        self._change = threading.Condition()
        self._next_beat = 0.0
        self._observed_at = 0.0
        self._standings: deque[tuple[Standing, float]] = deque(maxlen=MOST_STANDINGS)
        self._tried = threading.Event()
        self._closing = False
        self._unknown: UnknownPool | None = None
        self._ended_at = 0.0
        self._thread = threading.Thread(target=self._run, name=f"budget-pulse-{pool}", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether another one is due: there was no such pool a while ago."""
        return self._unknown is not None and time.monotonic() > self._ended_at + UNKNOWN_SECONDS

    def await_terms(self, until: float) -> None:
        """Wait until the pool has been heard of. Raises UnknownPool, LedgerUnavailable."""
        if not self._tried.wait(max(0.0, until - time.monotonic())):
            raise LedgerUnavailable("The ledger did not answer in time.")
        if self._unknown is not None:
            raise UnknownPool(*self._unknown.args)

    def found_away(self, error: Exception) -> None:
        """Whoever found the ledger away says so."""
        if self.breaker.trip():
            logger.warning("The ledger of %s is away: %s", self._pool, error)
            with self._change:
                self._change.notify_all()

    def observe(self, standing: Standing) -> None:
        """Tell the ledger what the provider said: once a second, and a refusal always."""
        now = time.monotonic()
        if not standing.refusal and now < self._observed_at + OBSERVE_SECONDS:
            return
        self._observed_at = now
        with self._change:
            self._standings.append((standing, now))
            self._change.notify_all()

    def close(self, seconds: float) -> None:
        """Tell what was decided while the ledger was away, and end, within so many seconds."""
        with self._change:
            self._closing = True
            self._change.notify_all()
        self._thread.join(seconds)

    def _run(self) -> None:
        while self._is_due():
            self._attempt()
            self._tried.set()
        if self._unknown is None and self._pool in self._book.pools and not self.breaker.is_open:
            self._next_beat = 0.0
            self._attempt()

    def _is_due(self) -> bool:
        """Waits until there is something to do; False once there never will be."""
        with self._change:
            while not self._closing and self._unknown is None:
                seconds = self._seconds()
                if seconds <= 0:
                    return True
                self._change.wait(seconds)
        return False

    def _seconds(self) -> float:
        until_look = self.breaker.seconds_until_look
        if until_look is not None:
            return until_look
        return 0.0 if self._standings else self._next_beat - time.monotonic()

    def _attempt(self) -> None:
        try:
            self._step()
        except UnknownPool as error:
            self._unknown, self._ended_at = error, time.monotonic()
        except (LedgerUnavailable, DatabaseError) as error:
            if self.breaker.is_open:
                self.breaker.still_away()
            else:
                self.found_away(error)
        except BudgetError as error:
            logger.warning("The ledger of %s: %s", self._pool, error)
        except Exception:
            # A fault of ours must not end what brings the ledger back.
            logger.exception("The ledger of %s can't be told of", self._pool)
            if self.breaker.is_open:
                self.breaker.still_away()
        finally:
            connections.close_all()

    def _step(self) -> None:
        if self.breaker.is_open:
            self._look()
        elif self._standings:
            standing, at = self._standings.popleft()
            age_ms = round(1000 * (time.monotonic() - at))
            observe(self._pool, standing, min(MAX_AGE_MS, age_ms))
        else:
            self._beat()

    def _look(self) -> None:
        """Ask about a call that nobody made: it takes the way of a real one.

        First, since the ledger's connections don't wait long for a server that is gone.
        """
        self._standings.clear()  # they would be stale
        about_nobody = Renew(id=new_id(pools.pool_id(self._pool)), extend_ms=1)
        with suppress(UnknownCall, UnknownPool):
            answer_of(submitted(about_nobody), patience(wait_seconds=WAIT_SECONDS))
        self._beat()
        if self.breaker.close():
            logger.warning("The ledger of %s is back.", self._pool)

    def _beat(self) -> None:
        self._next_beat = time.monotonic() + BEAT_SECONDS
        rows = self._book.rows(self._pool)
        try:
            told = hear(self._pool, self._process, self._name, _reports(rows))
        except Implausible:
            self._book.taken(rows)  # or they would be refused for ever
            raise
        self._book.taken(rows)
        self.lease_seconds = {slug: row.max_call_seconds for slug, row in told.classes.items()}
        self._away.learn(self._pool, terms_of(msgspec.to_builtins(told)))


def _reports(rows: list[dict[str, Any]]) -> list[AwayReport]:
    return msgspec.convert(rows, list[AwayReport])
