from datetime import UTC, datetime, timedelta

import pytest
from django.http import HttpResponse
from django.utils.http import urlencode

from budget.models import Pool, UsageMinute
from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def recorded(pool: Pool) -> None:
    """Two minutes of adjuster and one of nightly, at noon."""
    for slug, minute, shed in (
        ("adjuster", NOON, {}),
        ("adjuster", NOON + timedelta(minutes=1), {}),
        ("nightly", NOON, {"floor_protected": 3}),
    ):
        UsageMinute.objects.create(
            pool_id=pool.id,
            workload_class=slug,
            minute=minute,
            offered=4,
            admitted=4 - sum(shed.values()),
            shed=shed,
            estimated_tokens=4000,
            used_tokens=3000,
            charged=3000,
            allowance=400_000,
        )


def test_usage_is_given_by_class_and_minute(caller: Caller, recorded: None) -> None:
    answer = noon(caller)

    minutes = answer.json()["minutes"]
    assert answer.status_code == 200
    assert len(minutes) == 3
    nightly = next(minute for minute in minutes if minute["workload_class"] == "nightly")
    assert nightly == {
        "minute": "2026-01-31T12:00:00Z",
        "workload_class": "nightly",
        "offered": 4,
        "untagged": 0,
        "admitted": 1,
        "shed": {"floor_protected": 3},
        "would_shed": {},
        "expired": 0,
        "estimated_tokens": 4000,
        "used_tokens": 3000,
        "utilisation_percent": 0.75,
        "shed_rate": 0.75,
    }


def test_the_end_of_the_span_is_left_out(caller: Caller, recorded: None) -> None:
    minutes = usage(
        caller, **{"pool": "claims", "from": "2026-01-31T12:00:00Z", "to": "2026-01-31T12:01:00Z"}
    ).json()["minutes"]

    assert {minute["minute"] for minute in minutes} == {"2026-01-31T12:00:00Z"}


def test_usage_of_one_class(caller: Caller, recorded: None) -> None:
    minutes = noon(caller, **{"class": "nightly"}).json()["minutes"]

    assert [minute["workload_class"] for minute in minutes] == ["nightly"]


def test_the_last_hour_with_the_open_minute_is_the_default(caller: Caller) -> None:
    caller.admit()
    caller.admit(workload_class="nightly", input_tokens=10_000_000)

    minutes = usage(caller, pool="claims").json()["minutes"]

    assert sum(minute["offered"] for minute in minutes) == 2
    assert sum(minute["admitted"] for minute in minutes) == 1
    assert sum(minute["estimated_tokens"] for minute in minutes) == 1000


def test_a_key_sees_its_own_classes_only(nightly_caller: Caller, recorded: None) -> None:
    minutes = noon(nightly_caller).json()["minutes"]

    assert [minute["workload_class"] for minute in minutes] == ["nightly"]
    assert noon(nightly_caller, **{"class": "adjuster"}).status_code == 403


def test_a_key_for_another_pool_may_not_look(elsewhere_caller: Caller) -> None:
    assert usage(elsewhere_caller, pool="claims").status_code == 403


@pytest.mark.parametrize("pool", ["nowhere", "a b", "\x00"])
def test_an_unknown_pool_is_not_found(pool: str, caller: Caller) -> None:
    assert usage(caller, pool=pool).status_code == 404


@pytest.mark.parametrize("workload_class", ["nobody", "\x00", ""])
def test_an_unknown_class_is_not_found(workload_class: str, caller: Caller) -> None:
    assert usage(caller, **{"pool": "claims", "class": workload_class}).status_code == 404


@pytest.mark.parametrize(
    ("field", "query"),
    [
        ("pool", {}),
        ("pool", {"pool": ""}),
        ("from", {"pool": "claims", "from": "yesterday"}),
        ("from", {"pool": "claims", "from": ""}),
        ("from", {"pool": "claims", "from": "2026-01-31T12:00:00"}),
        ("from", {"pool": "claims", "from": "0001-01-01T00:00:00+14:00"}),
        ("to", {"pool": "claims", "to": "9999-12-31T23:59:59-14:00"}),
        ("to", {"pool": "claims", "to": "1769860800"}),
        ("from", {"pool": "claims", "from": "2026-01-31T12:00:00Z", "to": "2026-01-31T11:00:00Z"}),
        ("from", {"pool": "claims", "from": "2026-01-01T00:00:00Z", "to": "2026-01-09T00:00:00Z"}),
        ("workload_class", {"pool": "claims", "workload_class": "nightly"}),
        ("pool", {"pool": ["claims", "claims"]}),
    ],
)
def test_a_bad_query_is_refused_by_name(field: str, query: dict, caller: Caller) -> None:
    answer = usage(caller, **query)

    assert answer.status_code == 400
    assert answer.json()["field"] == field


def noon(caller: Caller, **query: str) -> HttpResponse:
    span = {"from": "2026-01-31T12:00:00Z", "to": "2026-01-31T13:00:00+00:00"}
    return usage(caller, **{"pool": "claims", **span, **query})


def usage(caller: Caller, **query: object) -> HttpResponse:
    return caller.get(f"/api/v1/usage?{urlencode(query, doseq=True)}")
