"""The gate of `budget.client` to the ledger in this process, without HTTP between them."""

import asyncio
import atexit
import logging
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4
from weakref import WeakSet

from django.db import connections
from django.db.utils import Error as DatabaseError

from budget.client.away import Away
from budget.client.book import Book
from budget.client.refusal import status_of
from budget.client.service import EXIT_SECONDS
from budget.client.verdict import Admitted, Ask, Choice, Ending, Refused, Verdict
from budget.client.watch import watch
from budget.ledger.errors import (
    BudgetError,
    Forbidden,
    Implausible,
    KeyReused,
    LedgerUnavailable,
)
from budget.ledger.operations import (
    MAX_EXTENSION_MS,
    Admission,
    AdmissionRequest,
    Renew,
    Settle,
    check_text,
)
from budget.ledger.protocol import Operation
from budget.providers.standing import Standing
from budget.services.asking import submitted
from budget.services.calls import admit
from budget.services.pulse import WAIT_SECONDS, Pulse

logger = logging.getLogger(__name__)

STATUSES: dict[type[BudgetError], int] = {Forbidden: 403, Implausible: 400, KeyReused: 422}
UNKNOWN = 404
MOST_THREADS = 32
"""In which calls of event loops wait for the ledger; the others wait for one of them."""


class LedgerGate:
    """A `budget.client.gate.Gate`: `BudgetTransport("claims", gate=LedgerGate())`.

    While a pool's ledger doesn't answer, classes do as their policy says, and as
    `when_unavailable` does before the pool was ever heard of. Settlements are put to the ledger
    without waiting; it goes on trying by itself. Make one and share it between threads and
    event loops; a forked child may use it, too.
    """

    _threads: ThreadPoolExecutor

    def __init__(self, when_unavailable: Choice = "shed") -> None:
        self._when_unavailable = when_unavailable
        self._begin()
        _gates.add(self)

    def admit(self, ask: Ask) -> Verdict:
        """The decision on a call; see `Gate`."""
        until = time.monotonic() + WAIT_SECONDS
        try:
            pulse = self._pulse(ask.pool)
            if pulse.breaker.is_open:
                return self._away.decide(ask)
            return self._decided(ask, pulse, until)
        except BudgetError as error:
            return Refused(ask, STATUSES.get(type(error), UNKNOWN), "", str(error))

    async def admit_async(self, ask: Ask, user: object) -> Verdict:
        """As `admit`, in a thread, where the ledger is waited for.

        A caller that is cancelled meanwhile leaves no admission behind.
        """
        made: list[Verdict] = []
        claim = threading.Lock()  # whoever comes second knows that the caller is gone

        def decide() -> Verdict:
            verdict = self.admit(ask)
            connections.close_all()
            made.append(verdict)
            if not claim.acquire(blocking=False):
                self._take_back(verdict)
            return verdict

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, decide)
        except BaseException:
            if not claim.acquire(blocking=False):
                self._take_back(made[0])
            raise

    async def leave(self, user: object) -> None:
        """Nothing was opened."""

    def settle(self, admitted: Admitted, ending: Ending) -> None:
        """Put to the ledger how a call ended; see `Gate`."""
        if admitted.id is None:
            self._away.settle(admitted, ending)
            return
        _put(
            Settle(
                id=UUID(admitted.id),
                outcome=ending.outcome,
                input_tokens=ending.used.input,
                output_tokens=ending.used.output,
                cached_input_tokens=ending.used.cached_input,
                curbed=True,
            )
        )

    def renew(self, admitted: Admitted, seconds: float) -> None:
        """Let a call's lease last longer; see `Gate`."""
        if admitted.id is not None:
            extend_ms = min(MAX_EXTENSION_MS, max(1, round(1000 * seconds)))
            _put(Renew(id=UUID(admitted.id), extend_ms=extend_ms))

    def observe(self, pool: str, standing: Standing) -> None:
        """Take in what the provider said of its limits; see `Gate`."""
        if pulse := self._pulses.get(pool):
            pulse.observe(standing)

    def close(self, seconds: float = EXIT_SECONDS) -> None:
        """Settle what was dropped, tell what was decided while the ledger was away, end threads.

        Done when the process ends; tests do it before their database goes. Each pool takes so
        many seconds at most. The gate may be used again.
        """
        watch.settle_dropped()
        with self._guard:
            pulses = list(self._pulses.values())
            self._pulses.clear()
        for pulse in pulses:
            pulse.close(seconds)

    def _decided(self, ask: Ask, pulse: Pulse, until: float) -> Verdict:
        try:
            pulse.await_terms(until)
            decided = admit(_request(ask), wait_seconds=until - time.monotonic())
        except (LedgerUnavailable, DatabaseError) as error:
            # A pool is looked up on the caller's connection if it was made anew since the last
            # beat. If a broken transaction forbids that, the pulse finds it.
            pulse.found_away(error)
            return self._away.decide(ask)
        pulse.breaker.works()
        if decided.admitted:
            lease_seconds = pulse.lease_seconds.get(decided.workload_class or "")
            return Admitted(str(decided.id), ask, lease_seconds)
        return _refused(ask, decided)

    def _pulse(self, pool: str) -> Pulse:
        pulse = self._pulses.get(pool)
        if pulse is None or pulse.is_over:
            check_text("pool", pool)
            with self._guard:
                pulse = self._pulses.get(pool)
                if pulse is None or pulse.is_over:
                    pulse = Pulse(pool, self._process, self._book, self._away)
                    self._pulses[pool] = pulse
        return pulse

    def _take_back(self, verdict: Verdict) -> None:
        if isinstance(verdict, Admitted):
            self.settle(verdict, Ending("cancelled"))

    def _begin(self) -> None:
        """What belongs to one process."""
        self._process = uuid4()
        self._book = Book()
        self._away = Away(self._book, self._when_unavailable)
        self._guard = threading.Lock()
        self._pulses: dict[str, Pulse] = {}
        self._threads = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="budget-admit")


def _request(ask: Ask) -> AdmissionRequest:
    return AdmissionRequest(
        pool=ask.pool,
        workload_class=ask.workload_class,
        input_tokens=ask.input_tokens,
        output_tokens=ask.output_tokens,
        deadline_ms=ask.deadline_ms,
        source=ask.source,
        tags=dict(ask.tags),
        idempotency_key=ask.key,
    )


def _refused(ask: Ask, decided: Admission) -> Refused:
    reason = decided.reason or ""
    again = decided.retry_after_ms if decided.retryable else None
    body = {"id": str(decided.id), "limit": decided.limit, "reason": reason}
    return Refused(ask, status_of(reason), reason, decided.detail, again, body)


def _put(operation: Operation) -> None:
    if sys.is_finalizing():
        return  # to start a writer now is to wait for it for ever; the lease runs out
    try:
        submitted(operation)
    except BudgetError as error:
        logger.warning("Call %s: %s", operation.id, error)


_gates: "WeakSet[LedgerGate]" = WeakSet()


def _in_child() -> None:
    for gate in list(_gates):
        gate._begin()


def _at_exit() -> None:
    """Before the writers answer what waits: they were imported earlier, and so end later."""
    watch.settle_all()
    for gate in list(_gates):
        gate.close()


os.register_at_fork(after_in_child=_in_child)
atexit.register(_at_exit)
