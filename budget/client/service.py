"""The gate over HTTP: a Token Budget service, and what is done while it is away."""

import atexit
import os
import socket
import time
from collections.abc import Callable
from multiprocessing import util
from uuid import uuid4
from weakref import WeakSet

from budget.client.away import Away
from budget.client.book import Book
from budget.client.breaker import Breaker
from budget.client.courier import Courier
from budget.client.errands import Observe, Renew, Settle, Undo
from budget.client.heartbeat import Heartbeat
from budget.client.link import Link, NoAnswer
from budget.client.reading import body_of, verdict_of
from budget.client.verdict import Admitted, Ask, Choice, Ending, Verdict
from budget.client.watch import watch
from budget.providers.standing import Standing

CONNECT_SECONDS = 0.25
READ_SECONDS = 0.5
FIRST_READ_SECONDS = 1.0
"""For the first answers: a service that just came up takes longer for them."""
EXIT_SECONDS = 2.0
"""How long a process that ends still runs its errands."""
OBSERVE_SECONDS = 1.0
"""How often at most what is left at the provider is told; a refusal always is."""


class Service:
    """A `Gate` to the service at `url`, as the owner of `key`.

    `connect_seconds` bounds how long an admission takes to be connected, and `read_seconds` each
    wait for a part of its answer; then, and until the service is back, the pool's policy
    decides what calls do (`when_unavailable` of each class), and before it has been heard of,
    the argument of that name does.

    Safe to share between threads and event loops, and to use in a forked child.
    Raises ValueError for an address or a key that can't be one.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        connect_seconds: float = CONNECT_SECONDS,
        read_seconds: float = READ_SECONDS,
        when_unavailable: Choice = "shed",
    ) -> None:
        self._link = Link(url, key, connect_seconds)
        self._read_seconds = read_seconds
        self._begin(Away(Book(), when_unavailable))
        _services.add(self)

    def admit(self, ask: Ask) -> Verdict:
        """The decision on a call; see `Gate`."""
        self._courier.know(ask.pool)
        if self._breaker.is_open:
            return self._away.decide(ask)
        seconds = self._patience(ask)
        try:
            reply = self._link.post("admissions", body_of(ask), ask.key, seconds)
            verdict = verdict_of(ask, reply)
        except NoAnswer as away:
            return self._alone(ask, away)
        except BaseException:
            self._courier.put(Undo(ask))
            raise
        self._breaker.works()
        return verdict

    async def admit_async(self, ask: Ask, user: object) -> Verdict:
        """As `admit`; a caller that is cancelled meanwhile leaves no admission behind."""
        self._courier.know(ask.pool)
        if self._breaker.is_open:
            return self._away.decide(ask)
        seconds = self._patience(ask)
        try:
            reply = await self._link.post_async(user, "admissions", body_of(ask), ask.key, seconds)
            verdict = verdict_of(ask, reply)
        except NoAnswer as away:
            return self._alone(ask, away)
        except BaseException:
            self._courier.put(Undo(ask))
            raise
        self._breaker.works()
        return verdict

    async def leave(self, user: object) -> None:
        """A user in the running event loop asks no more; see `Gate`."""
        await self._link.leave(user)

    def settle(self, admitted: Admitted, ending: Ending) -> None:
        """Take in how a call ended; see `Gate`."""
        if admitted.id is None:
            self._away.settle(admitted, ending)
        else:
            self._courier.put(Settle(admitted, ending))

    def renew(self, admitted: Admitted, seconds: float) -> None:
        """Let a call's lease last longer; see `Gate`."""
        if admitted.id is not None:
            self._courier.put(Renew(admitted.id, seconds))

    def observe(self, pool: str, standing: Standing) -> None:
        """Take in what the provider said of its limits; see `Gate`."""
        now = time.monotonic()
        if not standing.refusal and now < self._observed.get(pool, 0.0) + OBSERVE_SECONDS:
            return
        self._observed[pool] = now
        clock: Callable[[], float] = time.monotonic
        self._courier.put(Observe(pool, standing, now, clock))

    def flush(self, seconds: float = EXIT_SECONDS) -> bool:
        """Wait until everything has been told, but no longer. Gives whether it has."""
        return self._courier.flush(seconds)

    def close(self, seconds: float = EXIT_SECONDS) -> None:
        """Tell what is left, for so many seconds at most, and close the connections."""
        watch.settle_dropped()
        self._courier.close(seconds)
        self._link.close()

    def _patience(self, ask: Ask) -> float:
        known = self._away.knows(ask.pool)
        return self._read_seconds if known else max(self._read_seconds, FIRST_READ_SECONDS)

    def _alone(self, ask: Ask, away: NoAnswer) -> Verdict:
        if away.perhaps_done and ask.key is not None:
            self._courier.put(Undo(ask))
        self._courier.found_away(away)
        return self._away.decide(ask)

    def _begin(self, away: Away) -> None:
        """What belongs to one process."""
        self._away, self._breaker = away, Breaker()
        heart = Heartbeat(self._link, away.book, away, dict(_caller))
        self._courier = Courier(self._link, self._breaker, heart)
        self._observed: dict[str, float] = {}

    def _start_afresh(self) -> None:
        self._link.forget()
        self._begin(self._away.heir(Book()))


def _this_process() -> dict[str, str]:
    """As `POST /callers` knows it."""
    return {"process": str(uuid4()), "name": f"{socket.gethostname()[:150]}:{os.getpid()}"}


_services: "WeakSet[Service]" = WeakSet()
_caller = _this_process()


def _in_child() -> None:
    _caller.update(_this_process())
    for service in list(_services):
        service._start_afresh()


def _at_exit() -> None:
    for service in list(_services):
        service.close()


os.register_at_fork(after_in_child=_in_child)
atexit.register(_at_exit)
# A child of multiprocessing ends without `atexit`, and forgets what its parent was to do.
util.register_after_fork(_at_exit, lambda end: util.Finalize(None, end, exitpriority=1))
