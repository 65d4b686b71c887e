"""Calls: admit, settle, renew, cancel, explain."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import UUID

from budget.ledger import pools
from budget.ledger.calls import explanation
from budget.ledger.errors import (
    BudgetError,
    Forbidden,
    Implausible,
    KeyReused,
    Shed,
    UnknownCall,
)
from budget.ledger.ids import new_id
from budget.ledger.operations import (
    IN_PROCESS,
    MAX_EXTENSION_MS,
    OUTCOMES,
    Admission,
    AdmissionRequest,
    Admit,
    Caller,
    Outcome,
    Renew,
    Renewed,
    Settle,
    Settled,
    check_request,
    check_tokens,
    check_whole,
)
from budget.ledger.submission import Submission
from budget.ledger.view import look, picture
from budget.ledger.writers import answer_of, patience
from budget.services.asking import answer_by_slug, ask_known, existing_pool, submitted

logger = logging.getLogger(__name__)

T = TypeVar("T")


class OpenCall:
    """An admitted call while it is under way; tell it what the call used."""

    def __init__(
        self,
        admission: Admission,
        input_tokens: int,
        output_tokens: int,
        until: float | None = None,
    ) -> None:
        self.admission = admission
        self._until = until
        self._settle = _settle(admission.id, "succeeded", input_tokens, output_tokens)
        self._recorded = False

    def settle(
        self,
        input_tokens: int,
        output_tokens: int,
        cached_input_tokens: int = 0,
        outcome: Outcome = "succeeded",
    ) -> None:
        """Record what the call used; it is settled when the `with` block ends."""
        self._settle = _settle(
            self.admission.id, outcome, input_tokens, output_tokens, cached_input_tokens
        )
        self._recorded = True

    def finish(self, failed: bool) -> None:
        """Settle what was recorded, or the estimate. Called once, when the block ends.

        More than the call could have used is settled at the most it could, and logged. So is
        a ledger that doesn't answer: the call itself is done, and the ledger goes on trying.
        """
        if failed and not self._recorded:
            self._settle.outcome = "failed"
        self._settle.curbed = True
        try:
            until = patience() if self._until is None else self._until
            answer_of(submitted(self._settle), until)
        except BudgetError as error:
            logger.warning("Call %s was not settled yet: %s", self.admission.id, error)


@contextmanager
def admission(
    pool: str,
    workload_class: str | None,
    input_tokens: int,
    output_tokens: int,
    deadline_ms: int | None = None,
    source: str = "",
    tags: dict[str, str] | None = None,
    idempotency_key: str | None = None,
    wait_seconds: float | None = None,
) -> Iterator[OpenCall]:
    """Admit a call for the length of a `with` block, and settle it at the end.

    Where somebody waits for all of it, `wait_seconds` says for how long, block included: the
    ledger isn't waited for any longer than that, neither for the admission nor for the
    settlement, which then goes on by itself. Unless given, each may take as long as the
    setting `BUDGET_LEDGER_WAIT_SECONDS` says.

    Raises Shed when it is refused; one that comes back with the same key keeps its place.
    Raises KeyReused when it was admitted under that key before: its block is another. An
    exception inside the block settles the call as failed, at the estimate unless `settle`
    recorded something.
    """
    request = AdmissionRequest(
        pool=pool,
        workload_class=workload_class,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        deadline_ms=deadline_ms,
        source=source,
        tags=tags or {},
        idempotency_key=idempotency_key,
    )
    operation = _operation(request, IN_PROCESS)
    until = patience(deadline_ms, wait_seconds)
    decided = _decision(submitted(operation), until)
    if not decided.admitted:
        raise Shed(decided)
    if decided.replayed:
        raise KeyReused(f"The call {decided.id} was admitted under this idempotency key before.")
    call = OpenCall(decided, input_tokens, output_tokens, None if wait_seconds is None else until)
    try:
        yield call
    except BaseException:
        call.finish(failed=True)
        raise
    call.finish(failed=False)


def admit(
    request: AdmissionRequest, caller: Caller = IN_PROCESS, wait_seconds: float | None = None
) -> Admission:
    """Decide on one call, and wait for it as `admission` does.

    Raises Implausible, Forbidden, UnknownPool, UnknownClass, KeyReused, LedgerUnavailable.
    A refusal is no error but an Admission that is not `admitted`.
    """
    operation = _operation(request, caller)
    return _decision(submitted(operation), patience(request.deadline_ms, wait_seconds))


def admit_many(
    requests: Sequence[AdmissionRequest], caller: Caller = IN_PROCESS
) -> list[Admission | BudgetError]:
    """Decide on many calls at once, each as if it came alone; errors are returned, not raised."""
    until = patience()
    # One look-up per pool and batch, so that a pool deleted and made anew is found.
    for slug in {request.pool for request in requests}:
        pools.forget(slug)
    operations = [_tried(_operation, request, caller) for request in requests]
    submissions = [_tried(submitted, operation) for operation in operations]
    return [_tried(_decision, submission, until) for submission in submissions]


def settle(
    admission_id: UUID,
    outcome: Outcome,
    input_tokens: int = 0,
    output_tokens: int = 0,
    cached_input_tokens: int = 0,
    caller: Caller = IN_PROCESS,
) -> Settled:
    """Replace a call's estimate by what it used. The same again changes nothing.

    Raises Implausible, UnknownCall, CallWasShed, CallOfJob, AlreadySettled, LedgerUnavailable.
    """
    operation = _settle(admission_id, outcome, input_tokens, output_tokens, cached_input_tokens)
    operation.key_prefix = caller.key_prefix
    settled = ask_known(operation, _unknown(admission_id))
    assert isinstance(settled, Settled), "the answer to a Settle"
    return settled


def cancel(admission_id: UUID, caller: Caller = IN_PROCESS) -> Settled:
    """Give back everything a call was charged: it never left. Raises as `settle` does."""
    return settle(admission_id, "cancelled", caller=caller)


def renew(admission_id: UUID, extend_ms: int, caller: Caller = IN_PROCESS) -> Renewed:
    """Move the end of a call's lease by so many milliseconds.

    Raises Implausible, UnknownCall, CallWasShed, CallOfJob, AlreadySettled, LedgerUnavailable.
    """
    check_whole("extend_ms", extend_ms, 1, MAX_EXTENSION_MS)
    operation = Renew(id=admission_id, extend_ms=extend_ms, key_prefix=caller.key_prefix)
    renewed = ask_known(operation, _unknown(admission_id))
    assert isinstance(renewed, Renewed), "the answer to a Renew"
    return renewed


def explain(admission_id: UUID, caller: Caller = IN_PROCESS) -> dict[str, Any]:
    """The decision on a call with its arithmetic, its state, and what it used.

    Raises UnknownCall.
    """
    return explanation(admission_id, caller.key_prefix)


def pool_view(slug: str) -> dict[str, Any]:
    """What is left of a pool now, and each class's floor on it. Raises UnknownPool."""
    return picture(look(existing_pool(slug)))


def _operation(request: AdmissionRequest, caller: Caller) -> Admit:
    check_request(request)
    if caller.pools is not None and request.pool not in caller.pools:
        raise Forbidden(f"This key may not use the pool {request.pool!r}.")
    return Admit(
        id=new_id(pools.pool_id(request.pool)),
        request=request,
        caller=caller,
        fingerprint="" if request.idempotency_key is None else request.fingerprint,
    )


def _decision(submission: Submission, until: float) -> Admission:
    offered = submission.operation
    assert isinstance(offered, Admit), "only an Admit is decided on"
    answer = answer_by_slug(submission, offered.request.pool, until)
    assert isinstance(answer, Admission), "the answer to an Admit"
    return answer


def _tried(step: Callable[..., T], subject: Any, *others: Any) -> T | BudgetError:
    """What a step makes of its subject. An error becomes its result, or passes through it."""
    if isinstance(subject, BudgetError):
        return subject
    try:
        return step(subject, *others)
    except BudgetError as error:
        return error


def _settle(
    admission_id: UUID,
    outcome: Outcome,
    input_tokens: int,
    output_tokens: int,
    cached_input_tokens: int = 0,
) -> Settle:
    if outcome not in OUTCOMES:
        raise Implausible("outcome", f"must be one of {', '.join(OUTCOMES)}.")
    check_tokens("input_tokens", input_tokens)
    check_tokens("output_tokens", output_tokens)
    check_tokens("cached_input_tokens", cached_input_tokens)
    return Settle(
        id=admission_id,
        outcome=outcome,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_input_tokens=cached_input_tokens,
    )


def _unknown(admission_id: UUID) -> UnknownCall:
    return UnknownCall(f"There is no call {admission_id}.")
