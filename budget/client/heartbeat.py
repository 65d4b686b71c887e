"""Says that this process is there, and what it decided alone; learns each pool's terms."""

import logging
import time
from collections.abc import Iterable
from typing import Any

from budget.client.away import Away
from budget.client.book import Book
from budget.client.link import Link, Reply
from budget.client.terms import terms_of

logger = logging.getLogger("budget.client")

BEAT_SECONDS = 30.0
UNKNOWN_SECONDS = 600.0
"""Between two questions about a pool that the service doesn't know."""
MOST_POOLS = 1_000
OK, UNKNOWN = 200, 404
REFUSED = frozenset({400, 403, 422})
"""What a report is answered that would be refused again."""


class Heartbeat:
    """One beat per pool and half minute; for the courier's thread."""

    def __init__(self, link: Link, book: Book, away: Away, caller: dict[str, Any]) -> None:
        self._link, self._book, self._away = link, book, away
        self._caller = caller
        """`process` and `name`, as `POST /callers` takes them."""
        self._next: dict[str, float] = {}
        self._leaving = False

    def knows(self, pool: str) -> bool:
        """Whether there is nothing to begin with for a pool."""
        return pool in self._next or len(self._next) >= MOST_POOLS

    def hurry(self, pools: Iterable[str]) -> None:
        """Beat for these as soon as can be."""
        for pool in list(pools):
            self._next[pool] = 0.0

    def leave(self) -> None:
        """Say farewell to all pools, as soon as can be."""
        self._leaving = True
        self.hurry(self._next)

    @property
    def due(self) -> tuple[str, float] | None:
        """Which pool is next, and in how many seconds; None without any."""
        if not self._next:
            return None
        pool = min(self._next, key=lambda name: self._next[name])
        return pool, self._next[pool] - time.monotonic()

    def look(self) -> None:
        """Ask the service anything, and hurry with all there is to tell. Raises NoAnswer."""
        pools = sorted(self._book.pools) or sorted(self._next)
        self.beat(pools[0])
        self.hurry({*self._next, *pools} - {pools[0]})

    def beat(self, pool: str) -> None:
        """Tell and learn. Raises NoAnswer."""
        self._next[pool] = time.monotonic() + BEAT_SECONDS
        rows = self._book.rows(pool)
        reply = self._tell(pool, rows)
        if reply.status in REFUSED and rows:
            # One bad report must neither take the others with it nor be told for ever.
            for row in rows:
                if self._tell(pool, [row]).status in REFUSED:
                    logger.warning("What was decided alone is refused by the service: %s", row)
                    self._book.taken([row])
            if not self._leaving:
                self.hurry([pool])
        elif reply.status == UNKNOWN:
            self._next[pool] = time.monotonic() + UNKNOWN_SECONDS

    def _tell(self, pool: str, rows: list[dict[str, Any]]) -> Reply:
        body = {**self._caller, "pool": pool, "away": rows}
        if self._leaving:
            body["leaving"] = True
        reply = self._link.post("callers", body)
        if reply.status != OK:
            said = reply.body.get("detail", reply.status)
            logger.warning("The budget service says of %s: %s", pool, said)
            return reply
        self._book.taken(rows)
        try:
            self._away.learn(pool, terms_of(reply.body))
        except (KeyError, TypeError, ValueError) as error:
            logger.warning("The terms of %s can't be read: %r", pool, error)
        return reply
