"""A thread that runs a process's errands to the service, and again when it is back."""

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable

from budget.client.breaker import Breaker
from budget.client.errands import Errand, Observe, Renew
from budget.client.heartbeat import Heartbeat
from budget.client.link import Link, NoAnswer

logger = logging.getLogger("budget.client")

MOST_ERRANDS = 10_000
"""Errands that wait; beyond it the oldest are dropped, and their leases run out."""
OLDEST_SECONDS = 3_600.0
"""For how long one is tried that is never answered as it should be."""
SHORTEST_REST, LONGEST_REST = 0.1, 5.0
"""Seconds after one that wasn't."""
SAY_SECONDS = 60.0

Step = Callable[[], None]


class Courier:
    """Runs errands and heartbeats one after the other, and looks whether the service is back.

    One thread, started by the first thing there is to do. It ends with the process. An errand
    may take longer than a call would wait for; only a service that can't be reached at all is
    taken to be away because of one.
    """

    def __init__(self, link: Link, breaker: Breaker, heart: Heartbeat) -> None:
        self._link, self._breaker, self._heart = link, breaker, heart
        self._change = threading.Condition()
        self._errands: deque[tuple[Errand, float]] = deque()
        """And until when they are tried."""
        self._thread: threading.Thread | None = None
        self._busy = self._closing = False
        self._rest, self._rest_until = SHORTEST_REST, 0.0
        self._lost, self._said_at = 0, 0.0

    def put(self, errand: Errand) -> None:
        """Run an errand as soon as can be; a lease first."""
        with self._change:
            if len(self._errands) >= MOST_ERRANDS:
                self._errands.popleft()
                self._lost += 1
            append = self._errands.appendleft if isinstance(errand, Renew) else self._errands.append
            append((errand, time.monotonic() + OLDEST_SECONDS))
            self._wake()

    def know(self, pool: str) -> None:
        """Keep a pool's terms, from now on."""
        if not self._heart.knows(pool):
            with self._change:
                self._heart.hurry([pool])
                self._wake()

    def found_away(self, away: NoAnswer) -> None:
        """Whoever found the service away says so."""
        if self._breaker.trip():
            logger.warning("The budget service at %s is away: %s.", self._link.url, away)
            with self._change:
                self._wake()

    def flush(self, seconds: float) -> bool:
        """Wait until all errands are run, but no longer. Gives whether they were."""
        with self._change:
            return self._change.wait_for(lambda: not self._errands and not self._busy, seconds)

    def close(self, seconds: float) -> None:
        """Run what waits and say farewell, for so many seconds at most; end the thread."""
        if self._thread is None:
            return
        end = time.monotonic() + seconds
        if not self._breaker.is_open:
            with self._change:
                self._heart.leave()
                self._change.notify_all()
                self._change.wait_for(self._is_idle, seconds)
        with self._change:
            self._closing = True
            self._change.notify_all()
        self._thread.join(max(0.0, end - time.monotonic()))

    def _is_idle(self) -> bool:
        due = self._heart.due
        hurries = due is not None and due[1] <= 0
        return self._breaker.is_open or not (self._errands or self._busy or hurries)

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
                self._rest = SHORTEST_REST
            except NoAnswer as away:
                self._put_off(away)
            except Exception:
                # A fault of ours must not end what everybody's settlements depend on.
                logger.exception("An errand to the budget service failed")
            finally:
                with self._change:
                    self._busy = False
                    self._change.notify_all()
            self._say_what_was_lost()

    def _next_step(self) -> Step | None:
        """What is to be done next; None once the process ends."""
        with self._change:
            while not self._closing:
                step, seconds = self._due()
                if step is not None:
                    self._busy = True
                    return step
                self._change.wait(seconds)
            return None

    def _due(self) -> tuple[Step | None, float | None]:
        """What is due, or in how many seconds something will be."""
        until_look = self._breaker.seconds_until_look
        if until_look is not None:
            return (self._look, None) if until_look <= 0 else (None, until_look)
        resting = self._rest_until - time.monotonic()
        if resting > 0:
            return None, resting
        beat = self._heart.due
        if beat is not None and beat[1] <= 0:
            pool = beat[0]
            return (lambda: self._heart.beat(pool)), None
        if self._errands:
            errand, until = self._errands.popleft()
            return (lambda: self._do(errand, until)), None
        return None, None if beat is None else beat[1]

    def _do(self, errand: Errand, until: float) -> None:
        try:
            errand.run(self._link)
        except NoAnswer:
            # To the end, so that one that is never answered keeps no other from its turn.
            with self._change:
                if isinstance(errand, Observe) or time.monotonic() > until:
                    self._lost += 1
                else:
                    self._errands.append((errand, until))
            raise

    def _look(self) -> None:
        self._heart.look()
        if self._breaker.close():
            logger.warning("The budget service at %s is back.", self._link.url)

    def _put_off(self, away: NoAnswer) -> None:
        if self._breaker.is_open:
            self._breaker.still_away()
        elif away.unreachable:
            self.found_away(away)
        else:
            self._rest_until = time.monotonic() + self._rest
            self._rest = min(2 * self._rest, LONGEST_REST)

    def _say_what_was_lost(self) -> None:
        now = time.monotonic()
        if self._lost and now > self._said_at + SAY_SECONDS:
            self._said_at, lost, self._lost = now, self._lost, 0
            logger.warning("%s errands to the budget service were given up.", lost)
