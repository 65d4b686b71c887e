"""The same call offered again under its idempotency key."""

import time
from datetime import timedelta

import pytest
from django.db.models import F

from budget import services
from budget.ledger.errors import KeyReused
from budget.ledger.ids import new_id
from budget.ledger.operations import Admit, Caller
from budget.ledger.session import Session
from budget.ledger.submission import Submission
from budget.models import Call
from tests.ledger.pools import admit, available, make_pool, request

pytestmark = pytest.mark.usefixtures("classes")

WINDOW = {"unit": "total_tokens", "algorithm": "sliding_window", "amount": 16_000}


def test_an_admitted_call_is_replayed_and_charged_once() -> None:
    make_pool(WINDOW)
    first = admit(idempotency_key="a", fingerprint="f")
    again = admit(idempotency_key="a", fingerprint="f")
    assert again.replayed
    assert (again.id, again.deadline, again.charged) == (first.id, first.deadline, first.charged)
    assert available() == 15_000
    assert Call.objects.count() == 1


def test_another_request_under_the_key_is_refused() -> None:
    make_pool()
    admit(idempotency_key="a", fingerprint="f")
    with pytest.raises(KeyReused):
        admit(idempotency_key="a", fingerprint="g")


def test_a_shed_call_is_decided_anew_with_its_first_id_and_deadline() -> None:
    make_pool(WINDOW)
    blocking = admit("rescore", tokens=16_000)
    shed = admit("rescore", idempotency_key="a", fingerprint="f")
    assert not shed.admitted
    time.sleep(0.01)
    services.cancel(blocking.id)
    again = admit("rescore", idempotency_key="a", fingerprint="f")
    assert again.admitted
    assert not again.replayed
    assert (again.id, again.deadline) == (shed.id, shed.deadline)
    earlier = Call.objects.get(retried_as=shed.id)
    assert (earlier.state, earlier.idempotency_key) == ("shed", None)


def test_keys_belong_to_one_caller() -> None:
    make_pool()
    mine = services.admit(request(idempotency_key="a"), Caller("mine"))
    theirs = services.admit(request(idempotency_key="a"), Caller("theirs"))
    assert mine.id != theirs.id


def test_a_key_is_forgotten_after_a_day() -> None:
    make_pool()
    first = admit(idempotency_key="a", fingerprint="f")
    Call.objects.update(offered_at=F("offered_at") - timedelta(hours=24))
    second = admit(idempotency_key="a", fingerprint="g")
    assert second.id != first.id
    assert Call.objects.get(pk=first.id).idempotency_key is None


def test_one_key_twice_in_one_batch_is_one_call() -> None:
    pool = make_pool(WINDOW)
    answers = _decide_together(pool.pk, ["a", "a"], tokens=1000)
    assert answers[0].id == answers[1].id
    assert available() == 15_000


def test_one_key_shed_twice_in_one_batch_keeps_its_first_id() -> None:
    pool = make_pool(WINDOW)
    admit(tokens=16_000)
    first, second = _decide_together(pool.pk, ["a", "a"], tokens=2000)
    assert (first.admitted, second.admitted) == (False, False)
    assert first.id == second.id
    assert Call.objects.filter(state="shed").count() == 2
    assert Call.objects.get(idempotency_key="a").pk == first.id


def _decide_together(pool_id: int, keys: list[str], tokens: int) -> list[object]:
    session = Session(pool_id)
    submissions = [
        Submission(Admit(id=new_id(pool_id), request=request(tokens=tokens, idempotency_key=key)))
        for key in keys
    ]
    answers = session.decide(submissions)
    session.close()
    return answers
