import re
from datetime import datetime
from uuid import UUID, uuid4

import pytest
from django.db import connection

from budget.api.problem import QUOTA_EXCEEDED
from budget.models import Call, Pool, WorkloadClass
from tests.api.conftest import ADMISSIONS, CALL, Caller

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_call_that_fits_is_admitted_with_its_lease_and_charge(caller: Caller) -> None:
    answer = caller.admit()

    body = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Content-Type"] == "application/json"
    assert set(body) == {
        "id",
        "decision",
        "pool",
        "workload_class",
        "tier",
        "deadline",
        "lease_expires",
        "charged",
        "policy_version",
    }
    assert UUID(body["id"]).version == 7
    assert body["decision"] == "admitted"
    assert (body["pool"], body["workload_class"], body["tier"]) == (
        "claims",
        "adjuster",
        "interactive",
    )
    assert body["charged"] == {"total_tokens": 1000, "requests": 1}
    assert body["deadline"].endswith("Z")
    assert datetime.fromisoformat(body["deadline"]) < datetime.fromisoformat(body["lease_expires"])


def test_a_call_that_does_not_fit_now_is_shed_with_its_reason_and_retry_time(
    caller: Caller,
) -> None:
    exhaust(caller)

    answer = caller.admit(workload_class="nightly", input_tokens=4900)

    body = answer.json()
    assert answer.status_code == 429
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert set(body) == {
        "type",
        "title",
        "status",
        "detail",
        "id",
        "decision",
        "reason",
        "limit",
        "retryable",
        "retry_after_ms",
        "pool",
        "workload_class",
        "policy_version",
    }
    assert body["type"] == QUOTA_EXCEEDED
    assert body["decision"] == "shed"
    assert body["reason"] == "floor_protected"
    assert body["limit"] == "total_tokens/token_bucket"
    assert body["retryable"] is True
    assert body["detail"]


def test_retry_headers_say_the_same_as_the_body_and_are_never_zero(caller: Caller) -> None:
    exhaust(caller)

    answer = caller.admit(workload_class="nightly", input_tokens=4900)

    milliseconds = answer.json()["retry_after_ms"]
    assert milliseconds >= 1
    assert answer.headers["retry-after-ms"] == str(milliseconds)
    assert re.fullmatch(r"[1-9]\d*", answer.headers["Retry-After"])
    assert 0 <= int(answer.headers["Retry-After"]) * 1000 - milliseconds < 1000


def test_a_refusal_that_cannot_be_retried_has_no_retry_headers(caller: Caller) -> None:
    answer = caller.admit(workload_class=None)

    body = answer.json()
    assert answer.status_code == 429
    assert (body["reason"], body["retryable"], body["retry_after_ms"]) == ("untagged", False, None)
    assert body["workload_class"] is None
    assert "Retry-After" not in answer.headers
    assert "retry-after-ms" not in answer.headers


def test_callers_refused_together_come_back_one_after_another(caller: Caller) -> None:
    exhaust(caller)

    times = [
        caller.admit(workload_class="rescore", input_tokens=15_000).json()["retry_after_ms"]
        for _ in range(20)
    ]

    assert len(set(times)) > 10


@pytest.mark.parametrize("what", ["pool", "class"])
def test_a_paused_pool_or_class_sheds(what: str, caller: Caller, pool: Pool) -> None:
    paused = pool if what == "pool" else WorkloadClass.objects.get(slug="adjuster")
    paused.paused = True
    paused.save()

    answer = caller.admit()

    assert answer.status_code == 429
    assert answer.json()["reason"] == "paused"


def test_a_call_larger_than_the_limit_never_fits(caller: Caller, small_pool: Pool) -> None:
    answer = caller.admit(pool="small", input_tokens=601)

    body = answer.json()
    assert answer.status_code == 422
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert (body["decision"], body["reason"], body["retryable"]) == ("shed", "never_fits", False)
    assert body["limit"] == "total_tokens/sliding_window"
    assert "Retry-After" not in answer.headers


def test_observe_mode_admits_and_says_what_it_would_have_been(caller: Caller, pool: Pool) -> None:
    pool.mode = "observe"
    pool.save()
    exhaust(caller)

    answer = caller.admit(workload_class="nightly", input_tokens=4900)

    assert answer.status_code == 201
    assert answer.json()["would_be"] == "floor_protected"


def test_an_untagged_call_falls_into_the_pools_class(
    caller: Caller, pool: Pool, classes: dict[str, WorkloadClass]
) -> None:
    pool.untagged_class = classes["nightly"]
    pool.save()

    answer = caller.admit(workload_class=None)

    assert answer.status_code == 201
    assert answer.json()["workload_class"] == "nightly"


def test_a_deadline_may_be_shortened(caller: Caller) -> None:
    answer = caller.admit(deadline_ms=1000)

    call = Call.objects.get(id=answer.json()["id"])
    assert answer.status_code == 201
    assert (call.deadline - call.offered_at).total_seconds() == pytest.approx(1, abs=0.01)


def test_a_deadline_may_not_be_lengthened(caller: Caller) -> None:
    answer = caller.admit(deadline_ms=5001)

    assert answer.status_code == 400
    assert answer.json()["field"] == "deadline_ms"
    assert not Call.objects.exists()


def test_source_and_tags_are_kept_with_the_call(caller: Caller) -> None:
    answer = caller.admit(source="claims/views.py:12", tags={"tenant": "north", "ünï": "cödé 🙂"})

    call = Call.objects.get(id=answer.json()["id"])
    assert call.source == "claims/views.py:12"
    assert call.tags == {"tenant": "north", "ünï": "cödé 🙂"}


def test_an_unknown_pool_is_not_found(caller: Caller) -> None:
    answer = caller.admit(pool="nowhere")

    assert answer.status_code == 404
    assert "nowhere" in answer.json()["detail"]


def test_an_unknown_class_is_not_found(caller: Caller) -> None:
    answer = caller.admit(workload_class="nobody")

    assert answer.status_code == 404
    assert "nobody" in answer.json()["detail"]


def test_five_calls_of_130_tokens_on_600_a_minute_admit_four(
    caller: Caller, small_pool: Pool
) -> None:
    answers = [
        caller.admit(pool="small", input_tokens=100, output_tokens=30).status_code for _ in range(5)
    ]

    assert answers == [201, 201, 201, 201, 429]


def test_without_floors_of_others_one_class_gets_all_there_is(
    caller: Caller, small_pool: Pool
) -> None:
    assert caller.admit(pool="small", input_tokens=500, output_tokens=100).status_code == 201


def test_a_refusal_uses_up_no_request(caller: Caller) -> None:
    exhaust(caller)
    before = available(caller, "requests", "gauge")

    assert caller.admit(workload_class="nightly", input_tokens=4900).status_code == 429

    assert available(caller, "requests", "gauge") == before


@pytest.mark.parametrize("algorithm", ["token_bucket", "sliding_window"])
def test_a_pool_with_a_request_limit_only_is_enforced(
    algorithm: str, caller: Caller, small_pool: Pool
) -> None:
    small_pool.limits.update(
        unit="requests", algorithm=algorithm, amount=3, burst_percent=100, per_seconds=3600
    )

    answers = [caller.admit(pool="small").status_code for _ in range(5)]

    assert answers == [201, 201, 201, 429, 429]


def test_a_full_gauge_is_worth_another_try(caller: Caller, small_pool: Pool) -> None:
    small_pool.limits.update(unit="requests", algorithm="gauge", amount=1)
    held = caller.admit(pool="small").json()

    refused = caller.admit(pool="small")
    caller.settle(held["id"], outcome="succeeded", input_tokens=1, output_tokens=1)

    assert refused.status_code == 429
    assert refused.json()["retryable"] is True
    assert caller.admit(pool="small").status_code == 201


def test_a_policy_edit_by_raw_sql_takes_effect_on_the_next_decision(
    caller: Caller, small_pool: Pool
) -> None:
    before = caller.admit(pool="small", input_tokens=500).json()["policy_version"]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE budget_limit SET amount = 2000 WHERE pool_id = %s", [small_pool.id])

    answer = caller.admit(pool="small", input_tokens=500)

    assert answer.status_code == 201
    assert answer.json()["policy_version"] != before


def test_only_post_is_allowed(caller: Caller) -> None:
    answer = caller.get(ADMISSIONS)

    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_an_admission_sets_no_cookie_and_is_not_cached(caller: Caller) -> None:
    answer = caller.admit()

    assert not answer.cookies
    assert answer.headers["Cache-Control"] == "no-store"


def test_an_id_that_was_never_given_is_not_found(caller: Caller) -> None:
    for path in (f"{ADMISSIONS}/{uuid4()}", f"{ADMISSIONS}/{CALL['pool']}"):
        assert caller.get(path).status_code == 404


def exhaust(caller: Caller) -> None:
    """Has the adjuster use 90,000 of 100,000 tokens: what is left is kept for rescore."""
    for _ in range(6):
        assert caller.admit(input_tokens=14_000, output_tokens=1000).status_code == 201


def available(caller: Caller, unit: str, algorithm: str) -> float:
    """What is left of a limit of the claims pool."""
    limits = caller.get("/api/v1/pools/claims").json()["limits"]
    return next(
        limit["available"]
        for limit in limits
        if (limit["unit"], limit["algorithm"]) == (unit, algorithm)
    )
