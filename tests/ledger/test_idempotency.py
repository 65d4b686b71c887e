"""The same call offered again under its idempotency key."""

import time
from typing import Any

import pytest

from budget import services
from budget.ledger.errors import KeyReused, UnknownClass
from budget.ledger.ids import made_at, new_id, pool_of
from budget.ledger.operations import AdmissionRequest, Caller
from budget.ledger.session import Session
from budget.models import Call, WorkloadClass
from tests.ledger.pools import admit, available, make_pool, request, submission

pytestmark = pytest.mark.usefixtures("classes")

WINDOW = {"unit": "total_tokens", "algorithm": "sliding_window", "amount": 16_000}


def test_an_admitted_call_is_replayed_and_charged_once() -> None:
    make_pool(WINDOW)
    first = admit(idempotency_key="a")
    again = admit(idempotency_key="a")
    assert again.replayed
    assert (again.id, again.deadline, again.charged) == (first.id, first.deadline, first.charged)
    assert available() == 15_000
    assert Call.objects.count() == 1


def test_another_request_under_the_key_is_refused() -> None:
    make_pool()
    admit(idempotency_key="a")
    assert admit(idempotency_key="a", tags={}).replayed
    for other in ({"tokens": 1001}, {"deadline_ms": 1000}, {"tags": {"a": "b"}}):
        with pytest.raises(KeyReused):
            admit(idempotency_key="a", **other)


def test_a_shed_call_is_decided_anew_with_its_first_id_and_deadline() -> None:
    make_pool(WINDOW)
    blocking = admit("rescore", tokens=16_000)
    shed = admit("rescore", idempotency_key="a")
    assert not shed.admitted
    time.sleep(0.01)
    services.cancel(blocking.id)
    again = admit("rescore", idempotency_key="a")
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


def test_a_key_is_forgotten_a_day_after_its_first_decision() -> None:
    make_pool(WINDOW)
    blocking = admit("rescore", tokens=16_000)
    first = admit("rescore", idempotency_key="a")
    assert admit("rescore", idempotency_key="a").id == first.id
    day_old = new_id(pool_of(first.id), made_at(first.id) - 86_400_000_000)
    Call.objects.filter(pk=first.id).update(id=day_old)
    services.cancel(blocking.id)
    second = admit("rescore", tokens=2000, idempotency_key="a")
    assert second.admitted
    assert second.id not in (first.id, day_old)
    assert Call.objects.get(pk=day_old).idempotency_key is None


def test_a_retry_that_is_refused_outright_leaves_the_first_refusal_alone() -> None:
    pool = make_pool(WINDOW)
    admit("rescore", tokens=16_000)
    shed = admit("rescore", idempotency_key="a")
    WorkloadClass.objects.filter(slug="rescore").delete()
    answers = decide(pool.pk, request("rescore", idempotency_key="a"), request(tokens=0))
    assert isinstance(answers[0], UnknownClass)
    assert services.explain(shed.id)["decision"] == "shed"
    assert Call.objects.get(idempotency_key="a").pk == shed.id


def test_one_key_twice_in_one_batch_is_one_call() -> None:
    pool = make_pool(WINDOW)
    first, second = decide(pool.pk, *[request(idempotency_key="a")] * 2)
    assert first.id == second.id
    assert available() == 15_000


def test_one_key_shed_twice_in_one_batch_is_one_refusal() -> None:
    pool = make_pool(WINDOW)
    admit(tokens=16_000)
    first, second = decide(pool.pk, *[request(tokens=2000, idempotency_key="a")] * 2)
    assert (first.admitted, second.admitted) == (False, False)
    assert first.id == second.id
    assert Call.objects.get(state="shed").pk == first.id


def decide(pool_id: int, *requests: AdmissionRequest) -> list[Any]:
    """The answers of one batch."""
    session = Session(pool_id)
    answers = session.decide([submission(pool_id, wanted) for wanted in requests])
    session.close()
    return answers
