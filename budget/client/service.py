"""The gate over HTTP: a Token Budget service, and what is done while it is away."""

import atexit
import os
import socket
import time
from collections.abc import Callable
from uuid import uuid4
from weakref import WeakSet

from budget.client.away import Away as WhileAway
from budget.client.book import Book
from budget.client.breaker import Breaker
from budget.client.courier import Courier
from budget.client.errands import Observe, Renew, Settle, Undo
from budget.client.link import CONNECT_SECONDS, READ_SECONDS, Away, Link
from budget.client.reading import body_of, verdict_of
from budget.client.verdict import Admitted, Ask, Choice, Ending, Verdict
from budget.client.watch import watch
from budget.providers.standing import Standing

EXIT_SECONDS = 2.0
"""How long a process that ends still runs its errands."""
OBSERVE_SECONDS = 1.0
"""How often at most what is left at the provider is told; a refusal always is."""


class Service:
    """A `Gate` to the service at `url`, as the owner of `key`.

    `connect_seconds` and `read_seconds` bound each admission; then, and until it is back, the
    pool's policy decides what calls do (`when_unavailable` of each class), and before it has
    been heard of, the argument of that name does.

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
        self._link = Link(url, key, connect_seconds, read_seconds)
        self._when_unavailable = when_unavailable
        self._begin()
        _services.add(self)

    def admit(self, ask: Ask) -> Verdict:
        """The decision on a call; see `Gate`."""
        self._courier.know(ask.pool)
        if self._breaker.is_open:
            return self._away.decide(ask)
        first = not self._away.knows(ask.pool)
        try:
            reply = self._link.post("admissions", body_of(ask), ask.key, first)
            verdict = verdict_of(ask, reply)
        except Away as away:
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
        first = not self._away.knows(ask.pool)
        try:
            reply = await self._link.post_async(user, "admissions", body_of(ask), ask.key, first)
            verdict = verdict_of(ask, reply)
        except Away as away:
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

    def _alone(self, ask: Ask, away: Away) -> Verdict:
        if away.perhaps_done and ask.key is not None:
            self._courier.put(Undo(ask))
        self._courier.found_away(away)
        return self._away.decide(ask)

    def _begin(self) -> None:
        """What belongs to one process."""
        caller = {"process": str(uuid4()), "name": f"{socket.gethostname()[:150]}:{os.getpid()}"}
        self._breaker = Breaker()
        self._book = Book()
        self._away = WhileAway(self._book, self._when_unavailable)
        self._courier = Courier(self._link, self._breaker, self._book, self._away, caller)
        self._observed: dict[str, float] = {}

    def _start_afresh(self) -> None:
        self._link.forget()
        self._begin()


_services: "WeakSet[Service]" = WeakSet()
_shared: dict[tuple[str, str, Choice], Service] = {}

URL_VARIABLE = "TOKEN_BUDGET_URL"
KEY_VARIABLE = "TOKEN_BUDGET_KEY"


def service_of(url: str | None, key: str | None, when_unavailable: Choice = "shed") -> Service:
    """This process's one gate to a service; address and key from the environment unless given.

    Raises ValueError if neither says.
    """
    url, key = url or os.environ.get(URL_VARIABLE), key or os.environ.get(KEY_VARIABLE)
    if not url:
        raise ValueError(f"url: give the address of the service, or set {URL_VARIABLE}.")
    if not key:
        raise ValueError(f"key: give the API key of the service, or set {KEY_VARIABLE}.")
    name = (url, key, when_unavailable)
    if name not in _shared:
        _shared.setdefault(name, Service(url, key, when_unavailable=when_unavailable))
    return _shared[name]


def _in_child() -> None:
    for service in list(_services):
        service._start_afresh()


def _at_exit() -> None:
    watch.settle_all()
    for service in list(_services):
        service.close()


os.register_at_fork(after_in_child=_in_child)
atexit.register(_at_exit)
