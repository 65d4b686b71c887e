from datetime import datetime
from time import sleep
from typing import Any

import pytest
from django.http import HttpResponse
from django.utils import timezone

from budget.models import Observation, Pool, WorkloadClass
from budget.policy.history import change_keys, changes, scope_of_pool
from tests.api.conftest import Caller, make_key

pytestmark = pytest.mark.django_db(transaction=True)

OBSERVATIONS = "/api/v1/observations"
DRAINED = [{"unit": "total_tokens", "amount": 400_000, "remaining": 0, "reset_ms": 60_000}]


def observe(caller: Caller, **body: Any) -> HttpResponse:
    return caller.post(OBSERVATIONS, {"pool": "claims", **body})


def available(caller: Caller) -> float:
    limits = caller.get("/api/v1/pools/claims").json()["limits"]
    return float(next(limit["available"] for limit in limits if limit["unit"] == "total_tokens"))


def test_nothing_new_changes_nothing(caller: Caller) -> None:
    answer = observe(caller, limits=[{"unit": "total_tokens", "remaining": 400_000}])

    assert answer.status_code == 200
    assert answer.json() == {"pool": "claims", "leaked": {}, "backoff": {}, "paused": False}


def test_a_provider_that_has_nothing_left_while_our_level_was_full(caller: Caller) -> None:
    assert available(caller) == 100_000

    answer = observe(caller, limits=DRAINED, refusal="busy", retry_after_ms=9000)

    body = answer.json()
    assert body["leaked"] == {"total_tokens": 400_000}
    assert list(body["backoff"]) == ["nightly"]
    wait = datetime.fromisoformat(body["backoff"]["nightly"]) - timezone.now()
    assert 7 < wait.total_seconds() <= 10
    assert available(caller) < 30_000
    assert caller.admit(workload_class="nightly").json()["reason"] == "provider_backoff"
    told_by = Observation.objects.get().key_prefix
    assert told_by == caller.key.partition(".")[0]


def test_a_report_of_some_seconds_ago_counts_less(caller: Caller) -> None:
    assert observe(caller, limits=DRAINED, age_ms=3000).json()["leaked"] == {
        "total_tokens": pytest.approx(380_000, abs=2000)
    }
    assert observe(caller, limits=DRAINED, age_ms=60_000).json()["leaked"] == {}


def test_a_spend_cap_stops_the_pool_once_and_says_so(caller: Caller, pool: Pool) -> None:
    for _ in range(3):
        answer = observe(caller, refusal="money")
        assert answer.json() == {"pool": "claims", "leaked": {}, "backoff": {}, "paused": True}

    shed = caller.admit().json()
    assert shed["reason"] == "paused"
    assert "the account's spend cap is reached" in shed["detail"]
    stops = [change for change in history(pool) if change.why]
    assert [(change.who, change.why) for change in stops] == [
        ("the API key all", "The provider says that the account's spend cap is reached.")
    ]


def test_whoever_resumes_the_pool_knows_better_than_what_was_said_before(
    caller: Caller, pool: Pool
) -> None:
    observe(caller, refusal="money")
    Pool.objects.update(paused=False)

    assert observe(caller, refusal="money", age_ms=5000).json()["paused"] is False
    assert caller.admit().status_code == 201
    assert observe(caller, refusal="money").json()["paused"] is True


def test_a_pause_by_hand_says_nothing_of_money(caller: Caller, pool: Pool) -> None:
    observe(caller, refusal="money")
    Pool.objects.update(paused=False)
    caller.admit()
    Pool.objects.update(paused=True)

    assert "spend cap" not in caller.admit().json()["detail"]


def test_a_key_bound_to_classes_stops_nobody_elses(
    nightly_caller: Caller, caller: Caller, pool: Pool
) -> None:
    for _ in range(2):
        answer = observe(nightly_caller, limits=DRAINED, refusal="money", retry_after_ms=20_000)
        assert answer.status_code == 200
        body = answer.json()
        assert (body["paused"], list(body["backoff"])) == (False, ["nightly"])
        sleep(1.1)

    assert available(caller) >= 69_000, "the floors that nightly calls leave alone"
    assert caller.admit(input_tokens=40_000).status_code == 201
    assert caller.admit(workload_class="rescore").status_code == 201
    assert caller.admit(workload_class="nightly").json()["reason"] == "provider_backoff"
    pool.refresh_from_db()
    assert not pool.paused
    assert {row.refusal for row in Observation.objects.all()} == {"money"}
    assert observe(caller, limits=DRAINED).json()["leaked"]["total_tokens"] > 300_000
    assert available(caller) < 10_000


def test_a_key_of_the_strictest_callers_stops_the_pool(
    classes: dict[str, WorkloadClass], pool: Pool
) -> None:
    adjuster = Caller(make_key("adjuster", classes=[classes["adjuster"]]))
    assert observe(adjuster, refusal="money").json()["paused"] is True
    pool.refresh_from_db()
    assert pool.paused
    assert "spend cap is reached" in adjuster.admit().json()["detail"]


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("pool", {"pool": None}),
        ("limits", {"limits": {}}),
        ("limits", {"limits": [{"unit": "requests"}] * 5}),
        ("limits[0].unit", {"limits": [{}]}),
        ("limits[0].unit", {"limits": [{"unit": "tokens"}]}),
        ("limits[0].amount", {"limits": [{"unit": "requests", "amount": -1}]}),
        ("limits[0].amount", {"limits": [{"unit": "requests", "amount": 10**13}]}),
        ("limits[0].remaining", {"limits": [{"unit": "requests", "remaining": 1.5}]}),
        ("limits[0].reset_ms", {"limits": [{"unit": "requests", "reset_ms": "1s"}]}),
        ("refusal", {"refusal": "tired"}),
        ("retry_after_ms", {"retry_after_ms": -1}),
        ("retry_after_ms", {"retry_after_ms": 10**12}),
        ("age_ms", {"age_ms": 60_001}),
        ("age_ms", {"age_ms": -1}),
        ("said", {"said": 1}),
    ],
)
def test_bad_input_is_refused_by_name(field: str, body: dict[str, Any], caller: Caller) -> None:
    answer = observe(caller, **body)

    assert answer.status_code == 400
    assert answer.json()["field"] == field
    assert not Observation.objects.exists()


def test_whose_pool_it_is(
    caller: Caller, elsewhere_caller: Caller, stranger: Caller, pool: Pool
) -> None:
    assert observe(elsewhere_caller, refusal="money").status_code == 403
    assert observe(stranger, refusal="money").status_code == 401
    assert observe(caller, pool="nowhere", refusal="money").status_code == 404
    pool.refresh_from_db()
    assert not pool.paused


def history(pool: Pool) -> list[Any]:
    scope = scope_of_pool(pool.pk)
    return changes(change_keys(scope), scope)
