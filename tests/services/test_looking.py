"""What may be looked at: pools, calls, usage."""

import time
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from budget import services
from budget.models import Limit, PoolState, WorkloadClass
from budget.services import BudgetError, Caller, UnknownCall, UnknownPool
from tests.ledger.pools import admit, available, make_pool, request

pytestmark = pytest.mark.usefixtures("classes")

WINDOW = {"unit": "total_tokens", "algorithm": "sliding_window", "amount": 10_000}


def test_a_pool_nobody_called_is_full() -> None:
    make_pool(WINDOW, shares={"adjuster": 50})
    view = services.pool_view("claims")
    (limit,) = view["limits"]
    assert (limit["available"], limit["capacity"]) == (10_000, 10_000)
    assert limit["floors"]["adjuster"] == {
        "share_percent": 50,
        "unspent": 5000,
        "effective": 5000,
    }
    assert view["classes"]["nightly"]["state"] == "green"
    assert not PoolState.objects.exists(), "looking writes nothing"


def test_a_pool_shows_its_present_balance_under_its_present_policy() -> None:
    make_pool(WINDOW, shares={"adjuster": 50})
    admit(tokens=2000)
    Limit.objects.update(amount=8000)
    (limit,) = services.pool_view("claims")["limits"]
    assert (limit["available"], limit["floors"]["adjuster"]["unspent"]) == (6000, 2000)


def test_a_forgotten_calls_slot_looks_free_once_its_lease_is_over() -> None:
    WorkloadClass.objects.update(max_call_seconds=1)
    make_pool({"unit": "requests", "algorithm": "gauge", "amount": 2})
    admit()
    assert available() == 1
    time.sleep(1.1)
    assert available() == 2


def test_every_error_can_be_caught_by_what_services_exports() -> None:
    errors = {BudgetError, *BudgetError.__subclasses__()}
    assert {error.__name__ for error in errors} <= set(services.__all__)


def test_unknown_pools_have_no_view_and_no_usage() -> None:
    now = datetime.now(UTC)
    for look in (lambda: services.pool_view("x"), lambda: services.usage("x", now, now)):
        with pytest.raises(UnknownPool):
            look()


def test_a_deleted_pool_is_unknown_at_once() -> None:
    pool = make_pool()
    admit()
    pool.delete()
    with pytest.raises(UnknownPool):
        services.pool_view("claims")


def test_a_decision_is_explained_with_its_arithmetic() -> None:
    make_pool(WINDOW, shares={"adjuster": 50})
    shed = admit("nightly", 6000)
    told = services.explain(shed.id)
    assert (told["decision"], told["reason"]) == ("shed", "never_fits")
    small = admit("nightly", 4000, tags={"run": "7"})
    told = services.explain(small.id)
    assert (told["decision"], told["state"], told["usage"]) == ("admitted", "open", None)
    (numbers,) = told["limits"]
    assert numbers["protected"] == {"adjuster": 5000}
    assert (numbers["available"], numbers["free"], numbers["cost"]) == (10_000, 5000, 4000)
    services.settle(small.id, "succeeded", 1000)
    told = services.explain(small.id)
    assert told["usage"]["refunded"] == {"total_tokens": 3000}


def test_only_the_callers_own_decisions_are_explained() -> None:
    make_pool()
    call = services.admit(request(), Caller("mine"))
    assert services.explain(call.id, Caller("mine"))["id"] == call.id
    with pytest.raises(UnknownCall):
        services.explain(call.id, Caller("theirs"))
    with pytest.raises(UnknownCall):
        services.explain(uuid4())
