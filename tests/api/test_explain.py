from uuid import uuid4

import pytest

from tests.api.conftest import ADMISSIONS, Caller
from tests.api.test_admissions import exhaust

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_decision_is_given_with_its_arithmetic_per_limit(caller: Caller) -> None:
    admitted = caller.admit(workload_class="nightly", tags={"tenant": "north"}).json()

    body = caller.get(f"{ADMISSIONS}/{admitted['id']}").json()

    assert {name: body[name] for name in admitted} == admitted
    assert body["tags"] == {"tenant": "north"}
    assert [limit["limit"] for limit in body["limits"]] == [
        "requests/gauge",
        "requests/token_bucket",
        "total_tokens/token_bucket",
    ]
    tokens = body["limits"][-1]
    assert tokens["cost"] == 1000
    assert tokens["available"] == 100_000
    assert tokens["own_floor"] == 0
    assert tokens["protected"] == {"adjuster": 50_000, "rescore": 20_000}
    assert tokens["free"] == 30_000
    assert tokens["headroom"] == 0


def test_an_open_call_has_no_usage_yet(caller: Caller) -> None:
    admitted = caller.admit().json()

    body = caller.get(f"{ADMISSIONS}/{admitted['id']}").json()

    assert (body["state"], body["usage"]) == ("open", None)


def test_a_settled_call_shows_what_it_used(caller: Caller) -> None:
    admitted = caller.admit().json()
    caller.settle(admitted["id"], outcome="succeeded", input_tokens=800, output_tokens=50)

    body = caller.get(f"{ADMISSIONS}/{admitted['id']}").json()

    assert body["state"] == "settled"
    assert body["usage"]["outcome"] == "succeeded"
    assert (body["usage"]["input_tokens"], body["usage"]["output_tokens"]) == (800, 50)
    assert body["usage"]["refunded"] == {"total_tokens": 150}


def test_a_shed_call_shows_why(caller: Caller) -> None:
    exhaust(caller)
    shed = caller.admit(workload_class="nightly", input_tokens=15_000).json()

    body = caller.get(f"{ADMISSIONS}/{shed['id']}").json()

    assert (body["decision"], body["state"]) == ("shed", "shed")
    for member in ("reason", "limit", "retry_after_ms", "detail"):
        assert body[member] == shed[member]


def test_an_unknown_or_anothers_call_is_not_found(caller: Caller, other_caller: Caller) -> None:
    admitted = caller.admit().json()

    assert caller.get(f"{ADMISSIONS}/{uuid4()}").status_code == 404
    assert caller.get(f"{ADMISSIONS}/nonsense").status_code == 404
    assert other_caller.get(f"{ADMISSIONS}/{admitted['id']}").status_code == 404
