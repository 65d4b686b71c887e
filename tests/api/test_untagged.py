"""Calls that named no class are found by the place in the code that they come from."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import F
from django.http import HttpResponse
from django.utils.http import urlencode

from budget.models import Call, Pool, WorkloadClass
from budget.services import call_sites
from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(transaction=True)


def look(caller: Caller, **query: object) -> HttpResponse:
    return caller.get(f"/api/v1/untagged?{urlencode(query, doseq=True)}")


def sites(caller: Caller, **query: object) -> list[dict[str, Any]]:
    answer = look(caller, **query)
    assert answer.status_code == 200
    return list(answer.json()["call_sites"])


def call(caller: Caller, source: str, **changes: Any) -> None:
    caller.admit(workload_class=None, source=source, **changes)


@pytest.fixture
def let_in(pool: Pool, classes: dict[str, WorkloadClass]) -> None:
    """Untagged calls fall into `nightly`."""
    pool.untagged_class = classes["nightly"]
    pool.save()


def test_shed_calls_are_found_by_call_site(caller: Caller) -> None:
    for source in ("claims/views.py:57", "claims/views.py:57", "claims/old.py:3"):
        call(caller, source)
    caller.admit(source="claims/tagged.py:1")

    newest, older = sites(caller)

    assert newest["source"] == "claims/old.py:3"
    assert older.pop("first_seen") < older.pop("last_seen") < newest["first_seen"]
    assert caller.key is not None
    assert older == {
        "pool": "claims",
        "source": "claims/views.py:57",
        "key": caller.key.partition(".")[0],
        "workload_class": None,
        "calls": 2,
        "shed": 2,
        "tokens": 2000,
    }


def test_calls_that_fell_into_a_class_are_found_as_well(caller: Caller, let_in: None) -> None:
    call(caller, "claims/old.py:3")
    call(caller, "claims/old.py:3", input_tokens=10**6)

    (site,) = sites(caller, pool="claims")

    assert (site["workload_class"], site["calls"], site["shed"]) == ("nightly", 2, 1)


def test_calls_of_different_keys_are_told_apart(caller: Caller, other_caller: Caller) -> None:
    call(caller, "claims/old.py:3")
    call(other_caller, "claims/old.py:3")

    assert len({site["key"] for site in sites(caller)}) == 2


def test_one_pool_or_all(caller: Caller, small_pool: Pool) -> None:
    call(caller, "claims/old.py:3")
    call(caller, "claims/old.py:3", pool="small")

    assert [site["pool"] for site in sites(caller)] == ["small", "claims"]
    assert [site["pool"] for site in sites(caller, pool="claims")] == ["claims"]


def test_a_key_sees_its_own_pools_only(caller: Caller, elsewhere_caller: Caller) -> None:
    call(caller, "claims/old.py:3")
    call(elsewhere_caller, "claims/new.py:3", pool="elsewhere")

    assert look(elsewhere_caller, pool="claims").status_code == 403
    assert [site["pool"] for site in sites(elsewhere_caller)] == ["elsewhere"]


def test_a_key_sees_calls_in_its_classes_and_its_own(
    caller: Caller, nightly_caller: Caller, pool: Pool, classes: dict[str, WorkloadClass]
) -> None:
    call(nightly_caller, "own, shed")
    call(caller, "shed")
    for slug in ("nightly", "rescore"):
        Pool.objects.update(untagged_class=classes[slug])
        call(caller, slug)

    assert [site["source"] for site in sites(nightly_caller)] == ["nightly", "own, shed"]
    assert len(sites(caller)) == 4


def test_a_day_is_looked_at_unless_another_span_is_named(caller: Caller) -> None:
    call(caller, "claims/old.py:3")
    Call.objects.update(offered_at=F("offered_at") - timedelta(hours=25))
    call(caller, "claims/new.py:3")
    now = datetime.now(UTC)

    assert len(sites(caller)) == 1
    assert len(sites(caller, **{"from": (now - timedelta(days=2)).isoformat()})) == 2
    (old,) = sites(
        caller,
        **{
            "from": (now - timedelta(days=2)).isoformat(),
            "to": (now - timedelta(days=1)).isoformat(),
        },
    )
    assert old["source"] == "claims/old.py:3"


@pytest.mark.parametrize("bound", ["MOST_SITES", "MOST_CALLS"])
def test_what_is_left_out_is_said(
    bound: str, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_sites, bound, 2)
    call(caller, "claims/a.py:1")

    assert look(caller).json()["truncated"] is False
    call(caller, "claims/b.py:1")
    call(caller, "claims/c.py:1")

    answer = look(caller).json()
    assert answer["truncated"] is True
    assert [site["source"] for site in answer["call_sites"]] == ["claims/c.py:1", "claims/b.py:1"]


@pytest.mark.parametrize("pool", ["nowhere", "a b", "\x00", ""])
def test_an_unknown_pool_is_not_found(pool: str, caller: Caller) -> None:
    assert look(caller, pool=pool).status_code == 404


@pytest.mark.parametrize(
    ("field", "query"),
    [
        ("from", {"from": "yesterday"}),
        ("to", {"to": "2026-01-31T12:00:00"}),
        ("from", {"from": "2026-01-01T00:00:00Z", "to": "2026-01-09T00:00:00Z"}),
        ("from", {"from": "2026-01-09T00:00:00Z", "to": "2026-01-08T00:00:00Z"}),
        ("class", {"class": "nightly"}),
        ("pool", {"pool": ["claims", "claims"]}),
    ],
)
def test_a_bad_query_is_refused_by_name(field: str, query: dict[str, Any], caller: Caller) -> None:
    answer = look(caller, **query)

    assert answer.status_code == 400
    assert answer.json()["field"] == field


def test_usage_counts_untagged_calls_whether_shed_or_let_in(
    caller: Caller, pool: Pool, classes: dict[str, WorkloadClass]
) -> None:
    call(caller, "claims/old.py:3")
    pool.untagged_class = classes["nightly"]
    pool.save()
    call(caller, "claims/old.py:3")
    caller.admit(workload_class="nightly")

    counted: dict[str, list[int]] = {}
    for minute in caller.get("/api/v1/usage?pool=claims").json()["minutes"]:
        so_far = counted.setdefault(minute["workload_class"], [0, 0])
        so_far[0] += minute["untagged"]
        so_far[1] += minute["offered"]
    assert counted == {"": [1, 1], "nightly": [1, 2]}
