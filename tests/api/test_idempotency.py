import json

import pytest

from budget.models import Call, Pool
from tests.api.conftest import ADMISSIONS, CALL, Caller
from tests.api.test_admissions import exhaust

pytestmark = pytest.mark.django_db(transaction=True)

KEY = {"Idempotency-Key": "claim-17"}


def test_an_admitted_decision_is_replayed(caller: Caller) -> None:
    first = caller.admit(headers=KEY)
    again = caller.admit(headers=KEY)

    assert again.status_code == 201
    assert again.json() == first.json()
    assert Call.objects.count() == 1


def test_a_shed_decision_is_made_anew_with_its_first_id_and_deadline(caller: Caller) -> None:
    exhaust(caller)
    wanted = {"workload_class": "nightly", "input_tokens": 4900}

    first = caller.admit(headers=KEY, **wanted)
    deadline = Call.objects.get(id=first.json()["id"]).deadline
    again = caller.admit(headers=KEY, **wanted)

    assert again.status_code == 429
    assert again.json()["id"] == first.json()["id"]
    assert Call.objects.get(id=first.json()["id"]).deadline == deadline


def test_a_key_may_be_quoted_or_bare(caller: Caller) -> None:
    bare = caller.admit(headers={"Idempotency-Key": "claim-17"})
    quoted = caller.admit(headers={"Idempotency-Key": '"claim-17"'})

    assert quoted.json()["id"] == bare.json()["id"]


def test_quotes_and_backslashes_are_unescaped(caller: Caller) -> None:
    caller.admit(headers={"Idempotency-Key": r'"a \"b\" \\ c"'})

    assert Call.objects.get().idempotency_key == r'a "b" \ c'


def test_another_body_under_the_same_key_is_refused(caller: Caller) -> None:
    caller.admit(headers=KEY)

    answer = caller.admit(headers=KEY, input_tokens=901)

    assert answer.status_code == 422
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert "decision" not in answer.json()
    assert Call.objects.count() == 1


def test_the_same_body_laid_out_otherwise_is_the_same(caller: Caller) -> None:
    body = CALL | {"tags": {"a": "1", "b": "2"}, "deadline_ms": None}
    turned = {name: body[name] for name in reversed(body)} | {"tags": {"b": "2", "a": "1"}}

    first = caller.post(ADMISSIONS, body, **KEY)
    again = caller.post(ADMISSIONS, json.dumps(turned, indent=2).encode(), **KEY)

    assert again.json()["id"] == first.json()["id"]


def test_keys_of_different_callers_do_not_meet(caller: Caller, other_caller: Caller) -> None:
    assert (
        caller.admit(headers=KEY).json()["id"]
        != other_caller.admit(headers=KEY, input_tokens=1).json()["id"]
    )


def test_keys_on_different_pools_do_not_meet(caller: Caller, small_pool: Pool) -> None:
    assert (
        caller.admit(headers=KEY).json()["id"]
        != caller.admit(headers=KEY, pool="small", input_tokens=10).json()["id"]
    )
