from typing import Any

import pytest
from django.http import HttpResponse

from budget.models import Call, Pool
from tests.api.conftest import ADMISSIONS, CALL, Caller, lock_held

pytestmark = pytest.mark.django_db(transaction=True)

BATCH = f"{ADMISSIONS}/batch"


def test_each_call_gets_the_answer_it_would_get_alone(caller: Caller, small_pool: Any) -> None:
    answer = batch(
        caller,
        CALL,
        CALL | {"workload_class": None},
        CALL | {"pool": "small", "input_tokens": 601},
        CALL | {"pool": "nowhere"},
        CALL | {"workload_class": "nobody"},
        CALL | {"input_tokens": -1},
        CALL | {"deadline_ms": 10_000},
        CALL | {"pool": "small", "input_tokens": 1},
    )

    results = answer.json()["results"]
    assert answer.status_code == 200
    assert [result["status"] for result in results] == [201, 429, 422, 404, 404, 400, 400, 201]
    assert results[0]["decision"] == "admitted"
    assert results[0]["charged"] == {"total_tokens": 1000, "requests": 1}
    assert results[1]["reason"] == "untagged"
    assert results[2]["reason"] == "never_fits"
    assert results[5]["field"] == "admissions[5].input_tokens"
    assert results[6]["field"] == "deadline_ms"


def test_a_single_answer_and_a_batched_one_have_the_same_members(caller: Caller) -> None:
    alone = caller.admit().json()
    result = batch(caller, CALL).json()["results"][0]

    assert set(result) == set(alone) | {"status"}


def test_calls_of_a_batch_draw_on_each_others_rest(caller: Caller, small_pool: Any) -> None:
    call = CALL | {"pool": "small", "workload_class": "nightly", "input_tokens": 100}
    call |= {"output_tokens": 30}

    results = batch(caller, *[call] * 5).json()["results"]

    assert [result["status"] for result in results] == [201, 201, 201, 201, 429]
    assert results[4]["retry_after_ms"] >= 1


def test_a_class_the_key_is_not_for_is_refused_alone(nightly_caller: Caller) -> None:
    results = batch(nightly_caller, CALL, CALL | {"workload_class": "nightly"}).json()["results"]

    assert [result["status"] for result in results] == [403, 201]


def test_a_call_of_a_batch_may_have_an_idempotency_key(caller: Caller) -> None:
    keyed = CALL | {"idempotency_key": "claim-17"}

    first = batch(caller, keyed).json()["results"][0]
    again = batch(caller, keyed, keyed | {"input_tokens": 1}).json()["results"]
    alone = caller.admit(headers={"Idempotency-Key": "claim-17"}).json()

    assert again[0]["id"] == first["id"] == alone["id"]
    assert again[1]["status"] == 422
    assert Call.objects.count() == 1


def test_a_batch_holds_up_to_100_calls(caller: Caller) -> None:
    call = CALL | {"input_tokens": 1, "output_tokens": 1}

    assert len(batch(caller, *[call] * 100).json()["results"]) == 100
    assert refused_field(batch(caller, *[call] * 101)) == "admissions"


@pytest.mark.parametrize("body", [{}, {"admissions": []}, {"admissions": {}}, {"admissions": None}])
def test_a_batch_without_calls_is_refused(body: Any, caller: Caller) -> None:
    assert refused_field(caller.post(BATCH, body)) == "admissions"


def test_items_that_are_no_objects_are_refused_alone(caller: Caller) -> None:
    results = batch(caller, 7, None, [], CALL).json()["results"]

    assert [result["status"] for result in results] == [400, 400, 400, 201]
    assert results[0]["field"] == "admissions[0]"


def test_a_key_beside_the_batch_is_told_where_it_belongs(caller: Caller) -> None:
    answer = caller.post(BATCH, {"admissions": [CALL]}, **{"Idempotency-Key": "a"})

    assert refused_field(answer) == "Idempotency-Key"
    assert "idempotency_key" in answer.json()["detail"]
    assert not Call.objects.exists()


def batch(caller: Caller, *calls: Any) -> HttpResponse:
    return caller.post(BATCH, {"admissions": list(calls)})


def refused_field(answer: HttpResponse) -> str:
    assert answer.status_code == 400, answer.content
    return answer.json()["field"]


def test_a_call_the_ledger_could_not_decide_says_when_to_return(
    caller: Caller, pool: Pool, settings: Any
) -> None:
    settings.BUDGET_LEDGER_WAIT_SECONDS = 0.2
    with lock_held(pool):
        alone = caller.admit()
        results = batch(caller, CALL).json()["results"]

    assert alone.status_code == 503
    assert alone.headers["Retry-After"] == "1"
    assert alone.json() == results[0]
    assert results[0]["retry_after_ms"] == 1000
