"""The gate of `budget.client` to the ledger in this process, without HTTP between them."""

import logging
import os
import time
from uuid import UUID, uuid4

from asgiref.sync import sync_to_async

from budget.client.away import Away
from budget.client.book import Book
from budget.client.breaker import Breaker
from budget.client.verdict import Admitted, Ask, Ending, Refused, Verdict
from budget.ledger.clock import micros
from budget.ledger.errors import BudgetError, Forbidden, Implausible, LedgerUnavailable
from budget.ledger.operations import Admission, AdmissionRequest, Renew, Settle
from budget.ledger.protocol import Operation
from budget.providers.standing import Standing
from budget.rule.terms import SECOND
from budget.services.asking import submitted
from budget.services.calls import admit
from budget.services.pulse import Pulse

logger = logging.getLogger(__name__)

WAIT_SECONDS = 0.5
"""How long a call waits for the ledger before it is decided without it."""
LIMITED, NEVER_FITS = 429, 422
STATUSES: dict[type[BudgetError], int] = {Forbidden: 403, Implausible: 400}
UNKNOWN = 404


class LedgerGate:
    """A `budget.client.gate.Gate`: `BudgetTransport("claims", gate=LedgerGate())`.

    While the ledger doesn't answer, classes do as their policy says (`when_unavailable`).
    Settlements are put to the ledger without waiting; it goes on trying by itself.
    """

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def admit(self, ask: Ask) -> Verdict:
        """The decision on a call; see `Gate`."""
        self._pulse.know(ask.pool)
        if self._breaker.is_open:
            return self._away.decide(ask)
        try:
            decided = admit(_request(ask), wait_seconds=WAIT_SECONDS)
        except LedgerUnavailable as error:
            if self._breaker.trip():
                logger.warning("The ledger is away: %s", error)
                self._pulse.look()
            return self._away.decide(ask)
        except BudgetError as error:
            return Refused(ask, STATUSES.get(type(error), UNKNOWN), "", str(error))
        self._breaker.works()
        return _verdict(ask, decided)

    async def admit_async(self, ask: Ask, user: object) -> Verdict:
        """As `admit`, in a thread of its own: the ledger is waited for."""
        decided: Verdict = await sync_to_async(self.admit, thread_sensitive=False)(ask)
        return decided

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
            _put(Renew(id=UUID(admitted.id), extend_ms=max(1, round(1000 * seconds))))

    def observe(self, pool: str, standing: Standing) -> None:
        """Take in what the provider said of its limits; see `Gate`."""
        self._pulse.observe(pool, standing)

    def _begin(self) -> None:
        book = Book()
        self._breaker = Breaker()
        self._away = Away(book)
        self._pulse = Pulse(uuid4(), self._breaker, book, self._away)


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


def _verdict(ask: Ask, decided: Admission) -> Verdict:
    if decided.admitted:
        seconds = None
        if decided.lease_expires is not None:
            seconds = max(1.0, micros(decided.lease_expires) / SECOND - time.time())
        return Admitted(str(decided.id), ask, seconds)
    status = NEVER_FITS if decided.reason == "never_fits" else LIMITED
    again = decided.retry_after_ms if decided.retryable else None
    body = {"id": str(decided.id), "limit": decided.limit, "reason": decided.reason}
    return Refused(ask, status, decided.reason or "", decided.detail, again, body)


def _put(operation: Operation) -> None:
    try:
        submitted(operation)
    except BudgetError as error:
        logger.warning("Call %s: %s", operation.id, error)
