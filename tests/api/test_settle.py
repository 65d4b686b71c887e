from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from budget.models import Call
from tests.api.conftest import Caller
from tests.jobs.queueing import finish, take_one

pytestmark = pytest.mark.django_db(transaction=True)

USED = {"outcome": "succeeded", "input_tokens": 800, "output_tokens": 50}


def test_settling_replaces_the_estimate_by_what_was_used(caller: Caller) -> None:
    admitted = caller.admit().json()

    answer = caller.settle(admitted["id"], **USED)

    assert answer.status_code == 200
    assert answer.json() == {
        "id": admitted["id"],
        "outcome": "succeeded",
        "charged": {"total_tokens": 850, "requests": 1},
        "refunded": {"total_tokens": 150},
        "overrun": {},
    }


def test_more_than_the_estimate_is_an_overrun(caller: Caller) -> None:
    admitted = caller.admit().json()

    answer = caller.settle(admitted["id"], outcome="failed", input_tokens=1000, output_tokens=200)

    assert answer.json()["overrun"] == {"total_tokens": 200}


@pytest.mark.parametrize("outcome", ["cancelled", "rate_limited"])
def test_a_call_that_never_left_is_refunded_whole(outcome: str, caller: Caller) -> None:
    admitted = caller.admit().json()

    answer = caller.settle(admitted["id"], outcome=outcome)

    assert answer.json()["charged"] == {"total_tokens": 0, "requests": 0}
    assert answer.json()["refunded"] == {"total_tokens": 1000, "requests": 1}


def test_the_same_settlement_again_is_answered_alike(caller: Caller) -> None:
    admitted = caller.admit().json()
    first = caller.settle(admitted["id"], **USED)

    again = caller.settle(admitted["id"], **USED)

    assert again.status_code == 200
    assert again.json() == first.json()


def test_another_settlement_is_a_conflict(caller: Caller) -> None:
    admitted = caller.admit().json()
    caller.settle(admitted["id"], **USED)

    answer = caller.settle(admitted["id"], **USED | {"output_tokens": 51})

    assert answer.status_code == 409
    assert Call.objects.get().used_output_tokens == 50


def test_settlements_that_race_count_once(caller: Caller) -> None:
    admitted = caller.admit().json()

    def settle(_: int) -> int:
        try:
            return caller.settle(admitted["id"], **USED).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(settle, range(8)))

    assert answers == [200] * 8
    available = caller.get("/api/v1/pools/claims").json()["limits"]
    bucket = next(limit for limit in available if limit["unit"] == "total_tokens")
    assert bucket["available"] >= bucket["capacity"] - 850
    assert bucket["available"] <= bucket["capacity"]


def test_a_shed_call_cannot_be_settled(caller: Caller) -> None:
    shed = caller.admit(workload_class=None).json()

    assert caller.settle(shed["id"], **USED).status_code == 409


@pytest.mark.parametrize(
    "admission_id", ["0199e5a0-0000-7000-8000-000000000001", "nonsense", "%00", "a" * 300]
)
def test_an_unknown_call_is_not_found(admission_id: str, caller: Caller) -> None:
    answer = caller.settle(admission_id, **USED)

    assert answer.status_code == 404
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_another_keys_call_is_not_found(caller: Caller, other_caller: Caller) -> None:
    admitted = caller.admit().json()

    assert other_caller.settle(admitted["id"], **USED).status_code == 404
    assert Call.objects.get().state == "open"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("outcome", "done"),
        ("outcome", None),
        ("outcome", 1),
        ("input_tokens", -1),
        ("input_tokens", 1.5),
        ("input_tokens", "1"),
        ("input_tokens", 10**9 + 1),
        ("output_tokens", None),
        ("cached_input_tokens", -1),
        ("cached_input_tokens", 801),
        ("tokens", 5),
    ],
)
def test_a_bad_field_is_refused_by_name(field: str, value: Any, caller: Caller) -> None:
    admitted = caller.admit().json()

    answer = caller.settle(admitted["id"], **USED | {field: value})

    assert answer.status_code == 400
    assert answer.json()["field"] == field
    assert Call.objects.get().state == "open"


@pytest.mark.parametrize("field", ["outcome", "input_tokens", "output_tokens"])
def test_a_call_that_left_must_say_what_it_used(field: str, caller: Caller) -> None:
    admitted = caller.admit().json()

    answer = caller.settle(
        admitted["id"], **{name: value for name, value in USED.items() if name != field}
    )

    assert answer.status_code == 400
    assert answer.json()["field"] == field


def test_more_than_the_call_could_have_used_is_refused(caller: Caller) -> None:
    admitted = caller.admit().json()

    answer = caller.settle(admitted["id"], **USED | {"output_tokens": 1_000_000})

    assert answer.status_code == 400
    assert "tokens" in answer.json()["field"]
    assert Call.objects.get().state == "open"


def test_a_jobs_call_is_not_its_producers_to_settle(caller: Caller) -> None:
    caller.enqueue()
    job = take_one()

    answer = caller.settle(job.call_id, **USED)

    assert answer.status_code == 409
    assert str(job.id) in answer.json()["detail"]
    assert finish(job, input_tokens=800, output_tokens=50).accepted
