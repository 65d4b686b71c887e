"""Admission through the ledger, and what it must never get wrong."""

import time

import pytest

from budget import services
from budget.ledger.errors import Forbidden, Implausible, UnknownClass, UnknownPool
from budget.ledger.operations import Admission, Caller
from budget.models import Call, Pool, WorkloadClass
from tests.ledger.pools import admit, available, make_pool, request, settle, together

pytestmark = pytest.mark.usefixtures("classes")

REQUESTS = {"unit": "requests", "algorithm": "token_bucket", "amount": 10, "burst_percent": 100}
SLOTS = {"unit": "requests", "algorithm": "gauge", "amount": 2}


def small(algorithm: str, amount: int) -> dict[str, object]:
    WorkloadClass.objects.update(max_call_tokens=1)
    return {
        "unit": "total_tokens",
        "algorithm": algorithm,
        "amount": amount,
        "burst_percent": 100,
    }


def test_an_admitted_call_is_charged_and_stored() -> None:
    make_pool()
    admission = admit(tokens=1000, tags={"claim": "17"}, source="views.answer")
    assert admission.admitted
    assert admission.charged == {"total_tokens": 1000}
    assert 59_000 <= available() < 59_900
    call = Call.objects.get()
    assert (call.id, call.state, call.workload_class) == (admission.id, "open", "adjuster")
    assert (call.tags, call.source) == ({"claim": "17"}, "views.answer")
    assert (call.deadline, call.lease_expires) == (admission.deadline, admission.lease_expires)


def test_a_refusal_says_why_and_when() -> None:
    make_pool()
    admit(tokens=60_000)
    refusal = admit(tokens=20_000, workload_class="nightly")
    assert not refusal.admitted
    assert (refusal.reason, refusal.limit) == ("pool_exhausted", "total_tokens/token_bucket")
    assert refusal.retryable
    assert refusal.retry_after_ms is not None
    assert 1000 < refusal.retry_after_ms <= 3000
    assert "20,000 of total_tokens/token_bucket" in refusal.detail
    assert Call.objects.get(pk=refusal.id).detail == refusal.detail


@pytest.mark.parametrize(
    ("algorithm", "amount", "fit"),
    [
        ("token_bucket", 200, 1),
        ("sliding_window", 200, 1),
        ("token_bucket", 600, 4),
        ("sliding_window", 600, 4),
    ],
)
def test_of_five_parallel_calls_never_more_are_admitted_than_fit(
    algorithm: str, amount: int, fit: int
) -> None:
    make_pool(small(algorithm, amount))
    decided = together(5, lambda: admit(tokens=130))
    assert sum(decision.admitted for decision in decided) == fit


@pytest.mark.parametrize("algorithm", ["token_bucket", "sliding_window"])
def test_five_parallel_calls_that_never_fit_are_all_refused_for_good(algorithm: str) -> None:
    make_pool(small(algorithm, 100))
    decided = together(5, lambda: admit(tokens=130))
    assert {(d.admitted, d.reason, d.retryable) for d in decided} == {(False, "never_fits", False)}


def test_a_refusal_uses_up_nothing_of_any_limit() -> None:
    make_pool(small("sliding_window", 1000), REQUESTS, SLOTS)
    admit(tokens=900)
    before = [available(limit) for limit in range(3)]
    assert [admit(tokens=200).reason for _ in range(5)] == ["pool_exhausted"] * 5
    after = [available(limit) for limit in range(3)]
    assert before[0] == after[0] == 1
    assert after[1] >= before[1]
    assert before[2] == after[2] == 100


def test_a_limit_on_tokens_alone_is_enforced() -> None:
    make_pool(small("sliding_window", 1000))
    assert [admit(tokens=400).admitted for _ in range(3)] == [True, True, False]


def test_a_limit_on_requests_alone_is_enforced() -> None:
    make_pool({**REQUESTS, "amount": 2})
    assert [admit(tokens=10**6).admitted for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    ("limit", "whole"),
    [
        ({"unit": "requests", "algorithm": "gauge", "amount": 7}, 7),
        ({**REQUESTS, "amount": 7}, 7),
        ({"unit": "requests", "algorithm": "sliding_window", "amount": 7}, 7),
    ],
)
def test_a_class_without_reservation_has_no_hidden_cap(
    limit: dict[str, object], whole: int
) -> None:
    make_pool(limit)
    admitted = [admit("nightly", tokens=1).admitted for _ in range(whole + 1)]
    assert admitted == [True] * whole + [False]


def test_a_full_gauge_leaves_interactive_refusals_retryable() -> None:
    make_pool(SLOTS)
    admit()
    admit()
    refusal = admit()
    assert (refusal.reason, refusal.retryable) == ("pool_exhausted", True)
    assert refusal.retry_after_ms


def test_callers_refused_together_come_back_one_after_another() -> None:
    make_pool()
    admit(tokens=60_000)
    refused = together(20, lambda: admit("rescore", tokens=5000))
    moments = sorted(decision.retry_after_ms or 0 for decision in refused)
    assert moments[0] > 0
    assert len(set(moments)) == 20
    assert moments[-1] - moments[0] > 8000


def test_every_retryable_refusal_says_when() -> None:
    make_pool(REQUESTS, SLOTS, shares={"adjuster": 50})
    decided = [admit(slug) for slug in ("nightly", "rescore", "adjuster") for _ in range(6)]
    refused = [decision for decision in decided if not decision.admitted]
    assert refused
    assert all(decision.retry_after_ms for decision in refused if decision.retryable)
    assert all(decision.retry_after_ms is None for decision in refused if not decision.retryable)


def test_a_retry_alone_at_its_moment_is_admitted() -> None:
    make_pool()
    admit(tokens=60_000)
    refusal = admit(tokens=3000, idempotency_key="again")
    assert refusal.retry_after_ms is not None
    time.sleep(refusal.retry_after_ms / 1000)
    assert admit(tokens=3000, idempotency_key="again").admitted


def test_an_untagged_call_is_shed_or_falls_into_the_pools_class() -> None:
    pool = make_pool()
    shed = admit(None)
    assert (shed.reason, shed.retryable, shed.workload_class) == ("untagged", False, None)
    pool.untagged_class = WorkloadClass.objects.get(slug="nightly")
    pool.save()
    assert admit(None).workload_class == "nightly"


def test_observe_mode_admits_and_records_what_it_would_have_shed() -> None:
    make_pool(mode="observe")
    admit(tokens=60_000)
    admission = admit(tokens=30_000)
    assert (admission.admitted, admission.would_be) == (True, "pool_exhausted")
    assert settle(admission.id, 10) is None
    assert Call.objects.get(pk=admission.id).reason == "pool_exhausted"


def test_an_untagged_call_in_observe_mode_has_a_lease_that_ends() -> None:
    WorkloadClass.objects.update(max_call_seconds=1)
    make_pool(mode="observe")
    kept, forgotten = admit(None), admit(None)
    assert (kept.admitted, kept.would_be, kept.workload_class) == (True, "untagged", None)
    assert kept.lease_expires
    assert services.renew(kept.id, 60_000).lease_expires > kept.lease_expires
    time.sleep(1.1)
    admit(None)
    assert Call.objects.get(pk=forgotten.id).state == "lease_expired"
    settle(kept.id, 500)
    assert Call.objects.get(pk=kept.id).state == "settled"


def test_a_deadline_may_only_be_shortened() -> None:
    make_pool()
    assert admit(deadline_ms=1000).deadline < admit().deadline
    with pytest.raises(Implausible) as refusal:
        admit(deadline_ms=5001)
    assert refusal.value.field == "deadline_ms"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"input_tokens": -1}, "input_tokens"),
        ({"output_tokens": 10**30}, "output_tokens"),
        ({"input_tokens": 1.5}, "input_tokens"),
        ({"input_tokens": float("nan")}, "input_tokens"),
        ({"input_tokens": "7"}, "input_tokens"),
        ({"input_tokens": True}, "input_tokens"),
        ({"deadline_ms": 0}, "deadline_ms"),
        ({"deadline_ms": 10**15}, "deadline_ms"),
        ({"deadline_ms": 1.5}, "deadline_ms"),
        ({"pool": None}, "pool"),
        ({"pool": "\0"}, "pool"),
        ({"workload_class": ["adjuster"]}, "workload_class"),
        ({"source": "a\0b"}, "source"),
        ({"source": "\ud800"}, "source"),
        ({"source": "x" * 201}, "source"),
        ({"tags": {"a": "x" * 10_000}}, "tags"),
        ({"tags": {str(n): "" for n in range(21)}}, "tags"),
        ({"tags": {"a": 1}}, "tags"),
        ({"tags": {"": "x"}}, "tags"),
        ({"tags": {"x" * 51: ""}}, "tags"),
        ({"tags": ["a"]}, "tags"),
        ({"idempotency_key": ""}, "idempotency_key"),
        ({"idempotency_key": "\0"}, "idempotency_key"),
    ],
)
def test_what_no_call_can_mean_is_refused_by_field(fields: dict[str, object], field: str) -> None:
    make_pool()
    with pytest.raises(Implausible) as refusal:
        admit(**fields)
    assert refusal.value.field == field
    assert not Call.objects.exists()


def test_unknown_pools_and_classes_are_named() -> None:
    make_pool()
    with pytest.raises(UnknownPool, match="elsewhere"):
        admit(pool="elsewhere")
    with pytest.raises(UnknownClass, match="urgent"):
        admit("urgent")
    assert not Call.objects.exists()


def test_a_key_is_bound_to_its_classes_and_pools() -> None:
    make_pool()
    caller = Caller("k1", classes=frozenset({"nightly"}), pools=frozenset({"claims"}))
    assert services.admit(request("nightly"), caller).admitted
    with pytest.raises(Forbidden, match="adjuster"):
        services.admit(request("adjuster"), caller)
    with pytest.raises(Forbidden, match="other"):
        services.admit(request("nightly", pool="other"), caller)


def test_many_calls_are_decided_independently() -> None:
    make_pool()
    answers = services.admit_many(
        [request(), request("urgent"), request(pool="elsewhere"), request(input_tokens=-1)]
    )
    kinds = [type(answer) for answer in answers]
    assert kinds == [Admission, UnknownClass, UnknownPool, Implausible]


def test_a_pool_made_again_under_its_slug_is_found() -> None:
    make_pool().delete()
    with pytest.raises(UnknownPool):
        admit()
    make_pool()
    assert admit().admitted
    Pool.objects.all().delete()
    make_pool()
    assert admit().admitted
