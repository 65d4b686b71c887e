"""What becomes of operations whose caller gave up, or whose commit nobody heard of."""

import time
from typing import Any

import pytest
from django.db import OperationalError, connection

from budget import services
from budget.ledger import pools
from budget.ledger.errors import AlreadySettled, LedgerUnavailable
from budget.ledger.operations import Settle
from budget.ledger.session import Session
from budget.ledger.submission import Submission
from budget.ledger.writers import answer_of, patience, submit
from budget.models import Call, Pool, PoolState
from tests.ledger.disturbances import eventually, lock_held
from tests.ledger.pools import (
    admit,
    available,
    request,
    settle,
    submission,
)

pytestmark = pytest.mark.usefixtures("classes", "quiet")


def test_a_caller_that_gave_up_is_not_charged(pool: Pool, settings: Any) -> None:
    settings.BUDGET_LEDGER_WAIT_SECONDS = 0.2
    with lock_held(pool):
        with pytest.raises(LedgerUnavailable):
            admit(idempotency_key="again", tokens=5000)
        with pytest.raises(LedgerUnavailable):
            admit(tokens=7000)
    settings.BUDGET_LEDGER_WAIT_SECONDS = 5
    assert admit(tokens=5000, idempotency_key="again").admitted
    assert eventually(lambda: available() == 95_000)
    states = list(Call.objects.values_list("input_tokens", "state", "outcome"))
    assert states.count((5000, "open", "")) == 1
    assert set(states) <= {(5000, "open", ""), (5000, "settled", "cancelled")}


def test_a_batch_whose_caller_gave_up_is_not_charged_and_waited_for_once(
    pool: Pool, settings: Any
) -> None:
    settings.BUDGET_LEDGER_WAIT_SECONDS = 0.2
    with lock_held(pool):
        began = time.monotonic()
        answers = services.admit_many([request() for _ in range(20)])
        assert time.monotonic() - began < 1
    assert {type(answer) for answer in answers} == {LedgerUnavailable}
    settings.BUDGET_LEDGER_WAIT_SECONDS = 5
    assert admit().admitted
    assert eventually(lambda: available() == 99_000)
    assert Call.objects.filter(state="open").count() == 1


def test_a_settlement_whose_caller_gave_up_is_made(pool: Pool, settings: Any) -> None:
    call = admit()
    settings.BUDGET_LEDGER_WAIT_SECONDS = 0.2
    with lock_held(pool), pytest.raises(LedgerUnavailable):
        settle(call.id, 400)
    assert eventually(lambda: available() == 99_600)


def test_a_database_that_does_not_know_the_pool_for_want_of_an_answer(pool: Pool) -> None:
    def fail(*_: Any) -> None:
        raise OperationalError

    pools.forget("claims")
    with connection.execute_wrapper(fail), pytest.raises(LedgerUnavailable):
        admit()
    with connection.execute_wrapper(fail):
        answers = services.admit_many([request(), request()])
    assert {type(answer) for answer in answers} == {LedgerUnavailable}
    assert not Call.objects.exists()


def test_a_call_made_by_another_writer_under_the_number_of_ours(pool: Pool) -> None:
    admit()
    ours = submission(pool.pk, request(idempotency_key="a"))
    ours.attempted = PoolState.objects.latest("seq").seq + 1
    theirs = admit(idempotency_key="a")
    assert Call.objects.get(pk=theirs.id).seq == ours.attempted
    (answer,) = decide(pool, ours)
    assert (answer.id, answer.replayed) == (theirs.id, True)


def test_a_lost_reply_to_a_decision_anew(pool: Pool) -> None:
    blocking = admit(tokens=100_000)
    shed = admit(idempotency_key="a")
    services.cancel(blocking.id)
    ours = submission(pool.pk, request(idempotency_key="a"))
    decide(pool, ours)
    (again,) = decide(pool, ours)
    assert (again.id, again.admitted, again.replayed) == (shed.id, True, False)
    assert Call.objects.filter(retried_as=shed.id).count() == 1
    assert available() == 99_000


def test_a_call_that_was_replayed_outlives_a_caller_that_gave_up(pool: Pool) -> None:
    call = admit(idempotency_key="a")
    assert admit(idempotency_key="a").replayed
    given_up = Settle(id=call.id, outcome="cancelled", forget_key=True)
    with pytest.raises(AlreadySettled):
        answer_of(submit(pool.pk, given_up), patience())
    assert (Call.objects.get().state, available()) == ("open", 99_000)


def decide(pool: Pool, *submissions: Submission) -> list[Any]:
    """The answers of a writer of its own, which may forget them."""
    session = Session(pool.pk)
    answers = session.decide(submissions)
    session.close()
    return answers


def test_too_many_waiting_callers_are_turned_away(pool: Pool, settings: Any) -> None:
    settings.BUDGET_LEDGER_QUEUE_SIZE = 0
    with pytest.raises(LedgerUnavailable):
        admit()
