import pytest

from budget.models import Limit, Pool, WorkloadClass
from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_pool_shows_what_is_left_of_each_limit(caller: Caller) -> None:
    caller.admit()

    answer = caller.get("/api/v1/pools/claims")

    body = answer.json()
    assert answer.status_code == 200
    assert set(body) == {
        "slug",
        "mode",
        "paused",
        "spend_cap_reached",
        "policy_version",
        "limits",
        "batch_limits",
        "classes",
    }
    assert (body["slug"], body["mode"], body["paused"]) == ("claims", "enforce", False)
    gauge = limit_of(body, "requests", "gauge")
    assert (gauge["amount"], gauge["capacity"], gauge["available"]) == (40, 40, 39)


def test_a_pool_shows_the_floor_of_each_class(caller: Caller) -> None:
    caller.admit()

    body = caller.get("/api/v1/pools/claims").json()

    floor = limit_of(body, "total_tokens", "token_bucket")["floors"]["adjuster"]
    assert floor["share_percent"] == 50
    assert 49_000 <= floor["unspent"] <= 50_000
    assert floor["effective"] == floor["unspent"]


def test_a_pool_shows_its_classes(caller: Caller) -> None:
    classes = caller.get("/api/v1/pools/claims").json()["classes"]

    assert set(classes) == {"adjuster", "rescore", "nightly"}
    assert set(classes["adjuster"]) == {
        "paused",
        "draining",
        "state",
        "order",
        "depth",
        "tokens",
        "running",
        "oldest_wait_seconds",
        "expected_wait_seconds",
        "taken_per_minute",
        "waits_for",
        "backoff_until",
    }


def test_a_pool_shows_how_each_queue_stands(caller: Caller) -> None:
    WorkloadClass.objects.filter(slug="rescore").update(queue_limit=2)
    caller.enqueue()
    classes = caller.get("/api/v1/pools/claims").json()["classes"]

    queue = classes["rescore"]
    assert (queue["state"], queue["order"]) == ("amber", "earliest_deadline")
    assert (queue["depth"], queue["tokens"], queue["running"]) == (1, 1000, 0)
    assert queue["oldest_wait_seconds"] >= 0
    assert queue["expected_wait_seconds"] is None
    assert (classes["nightly"]["state"], classes["nightly"]["depth"]) == ("green", 0)
    assert classes["nightly"]["oldest_wait_seconds"] is None


def test_a_pool_shows_the_limits_of_its_batch_endpoint(caller: Caller, pool: Pool) -> None:
    assert caller.get("/api/v1/pools/claims").json()["batch_limits"] == []
    Limit.objects.create(
        pool=pool, of_batch=True, unit="total_tokens", algorithm="gauge", amount=5_000_000
    )
    Pool.objects.update(batch=True)

    (limit,) = caller.get("/api/v1/pools/claims").json()["batch_limits"]
    assert limit == {
        "unit": "total_tokens",
        "algorithm": "gauge",
        "amount": 5_000_000,
        "capacity": 5_000_000,
        "available": 5_000_000,
    }


def test_a_pool_that_never_saw_a_call_is_full(caller: Caller, small_pool: Pool) -> None:
    body = caller.get("/api/v1/pools/small").json()

    assert body["limits"][0]["available"] == 600


@pytest.mark.parametrize("slug", ["nowhere", "%00", "a%20b", "x" * 100])
def test_an_unknown_pool_is_not_found(slug: str, caller: Caller) -> None:
    answer = caller.get(f"/api/v1/pools/{slug}")

    assert answer.status_code == 404
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_key_for_another_pool_may_not_look(elsewhere_caller: Caller) -> None:
    assert elsewhere_caller.get("/api/v1/pools/claims").status_code == 403
    assert elsewhere_caller.get("/api/v1/pools/elsewhere").status_code == 200


def limit_of(body: dict, unit: str, algorithm: str) -> dict:
    return next(
        limit
        for limit in body["limits"]
        if (limit["unit"], limit["algorithm"]) == (unit, algorithm)
    )
