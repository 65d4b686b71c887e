"""Processes say that they are alive, and are told what to do while the service is away."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.utils import timezone

from budget.models import AwayReport, CallerProcess, Pool, WorkloadClass
from tests.api.conftest import Caller

pytestmark = pytest.mark.django_db(transaction=True)

CALLERS = "/api/v1/callers"
FLOORS = {"total_tokens/token_bucket", "requests/token_bucket", "requests/gauge"}


def hear(caller: Caller, **changes: Any) -> HttpResponse:
    body = {"pool": "claims", "process": str(uuid4()), "name": "web-1:4711"}
    return caller.post(CALLERS, body | changes)


def away(**changes: Any) -> dict[str, Any]:
    """Ten calls of the adjuster, of a minute that began two minutes ago."""
    return {
        "report": str(uuid4()),
        "workload_class": "adjuster",
        "choice": "local",
        "admitted": 7,
        "shed": 3,
        "input_tokens": 6000,
        "output_tokens": 700,
        "first_at_ms_ago": 120_000,
        "last_at_ms_ago": 60_000,
        **changes,
    }


def test_a_process_is_told_what_it_needs_to_go_on_without_the_service(
    caller: Caller, pool: Pool
) -> None:
    told = hear(caller)

    assert told.status_code == 200
    body = told.json()
    assert (body["pool"], body["provider"], body["untagged"]) == ("claims", "anthropic", None)
    assert body["policy_version"] == caller.get("/api/v1/pools/claims").json()["policy_version"]
    assert {name: body["limits"][-1][name] for name in ("unit", "algorithm", "amount")} == {
        "unit": "total_tokens",
        "algorithm": "token_bucket",
        "amount": 400_000,
    }
    assert (body["limits"][-1]["per_seconds"], body["limits"][-1]["capacity"]) == (60, 100_000)
    assert list(body["classes"]) == ["adjuster", "rescore", "nightly"]
    adjuster = body["classes"]["adjuster"]
    assert (adjuster["tier"], adjuster["deadline_seconds"]) == ("interactive", 5)
    assert (adjuster["max_call_seconds"], adjuster["max_call_tokens"]) == (120, 16_000)
    assert set(adjuster["floors"]) == FLOORS
    assert adjuster["floors"]["total_tokens/token_bucket"] == 50_000
    assert body["classes"]["nightly"]["floors"]["requests/gauge"] == 0


def test_a_class_without_a_choice_has_that_of_its_tier(caller: Caller) -> None:
    WorkloadClass.objects.filter(slug="nightly").update(when_unavailable="admit")

    classes = hear(caller).json()["classes"]

    assert [told["when_unavailable"] for told in classes.values()] == ["local", "shed", "admit"]


def test_a_pause_and_the_class_of_untagged_calls_are_told(caller: Caller, pool: Pool) -> None:
    WorkloadClass.objects.filter(slug="rescore").update(paused=True)
    Pool.objects.update(untagged_class=WorkloadClass.objects.get(slug="nightly"))

    told = hear(caller).json()

    assert told["untagged"] == "nightly"
    assert [one["paused"] for one in told["classes"].values()] == [False, True, False]
    Pool.objects.update(paused=True)
    assert all(one["paused"] for one in hear(caller).json()["classes"].values())


def test_processes_count_once_each_and_only_while_they_are_heard_of(caller: Caller) -> None:
    process = str(uuid4())

    assert [hear(caller, process=process).json()["processes"] for _ in range(2)] == [1, 1]
    assert hear(caller).json()["processes"] == 2
    CallerProcess.objects.filter(process=process).update(
        seen_at=timezone.now() - timedelta(seconds=91)
    )
    assert hear(caller).json()["processes"] == 2


def test_a_process_that_leaves_counts_no_more_and_its_reports_are_taken_in(caller: Caller) -> None:
    process = str(uuid4())
    hear(caller)
    assert hear(caller, process=process).json()["processes"] == 2

    told = hear(caller, process=process, leaving=True, away=[away()])

    assert (told.status_code, told.json()["processes"]) == (200, 1)
    assert AwayReport.objects.count() == 1
    assert hear(caller, process=process, leaving=True).json()["processes"] == 1
    assert hear(caller, process=process).json()["processes"] == 2


def test_nobody_takes_leave_for_another_keys_process(
    caller: Caller, nightly_caller: Caller
) -> None:
    process = str(uuid4())
    hear(caller, process=process)

    assert hear(nightly_caller, process=process, leaving=True).json()["processes"] == 1


def test_processes_of_other_pools_are_not_counted(caller: Caller, small_pool: Pool) -> None:
    process = str(uuid4())
    hear(caller, process=process)

    assert hear(caller, pool="small", process=process).json()["processes"] == 1
    assert CallerProcess.objects.count() == 2


def test_a_report_counts_once_however_often_it_is_sent(caller: Caller) -> None:
    report = away()

    for reports in ([report], [report, away(), report], [report]):
        assert hear(caller, away=reports).status_code == 200

    assert AwayReport.objects.count() == 2


def test_the_time_of_a_report_is_reckoned_from_the_services_clock(caller: Caller) -> None:
    before = timezone.now()
    hear(caller, away=[away()])

    stored = AwayReport.objects.get()
    assert (stored.workload_class, stored.choice) == ("adjuster", "local")
    assert (stored.admitted, stored.shed) == (7, 3)
    assert (stored.input_tokens, stored.output_tokens) == (6000, 700)
    assert before <= stored.received_at <= timezone.now()
    assert stored.received_at - stored.first_at == timedelta(minutes=2)
    assert stored.received_at - stored.last_at == timedelta(minutes=1)
    assert caller.key is not None
    assert stored.key_prefix == caller.key.partition(".")[0]


def test_a_report_of_a_class_that_is_gone_is_one_of_untagged_calls(caller: Caller) -> None:
    assert hear(caller, away=[away(workload_class="gone"), away(workload_class=None)]).json()

    assert list(AwayReport.objects.values_list("workload_class", flat=True)) == ["", ""]


def test_a_key_is_told_of_its_own_classes_only(nightly_caller: Caller) -> None:
    assert list(hear(nightly_caller).json()["classes"]) == ["nightly"]


def test_a_key_reports_on_its_own_classes_only(nightly_caller: Caller) -> None:
    reports = [away(workload_class="nightly"), away()]

    answer = hear(nightly_caller, away=reports)

    assert answer.status_code == 403
    assert "adjuster" in answer.json()["detail"]
    assert not AwayReport.objects.exists()
    assert not CallerProcess.objects.exists()
    assert hear(nightly_caller, away=[away(workload_class=None)]).status_code == 200


def test_a_key_for_another_pool_is_told_nothing(elsewhere_caller: Caller) -> None:
    assert hear(elsewhere_caller).status_code == 403
    assert hear(elsewhere_caller, pool="elsewhere").json()["limits"] == []


def test_an_unknown_pool_is_not_found(caller: Caller) -> None:
    assert hear(caller, pool="nowhere").status_code == 404


def test_a_stranger_is_told_nothing(stranger: Caller, pool: Pool) -> None:
    assert hear(stranger).status_code == 401


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("pool", {"pool": "a b"}),
        ("pool", {"pool": None}),
        ("process", {"process": "web-1"}),
        ("process", {"process": 7}),
        ("name", {"name": "a\x00"}),
        ("name", {"name": "x" * 201}),
        ("name", {"name": None}),
        ("host", {"host": "web-1"}),
        ("leaving", {"leaving": "soon"}),
        ("away", {"away": {}}),
        ("away", {"away": [away()] * 101}),
        ("away[0].report", {"away": [away(report="first")]}),
        ("away[0].choice", {"away": [away(choice="wait")]}),
        ("away[0].workload_class", {"away": [away(workload_class="")]}),
        ("away[0].admitted", {"away": [away(admitted=-1)]}),
        ("away[0].shed", {"away": [away(shed=1.5)]}),
        ("away[0].input_tokens", {"away": [away(input_tokens=10**9 + 1)]}),
        ("away[0].output_tokens", {"away": [away(output_tokens="many")]}),
        ("away[0].first_at_ms_ago", {"away": [away(first_at_ms_ago=-1)]}),
        ("away[0].first_at_ms_ago", {"away": [away(first_at_ms_ago=10**10)]}),
        ("away[1].last_at_ms_ago", {"away": [away(), away(last_at_ms_ago=120_001)]}),
        ("away[0].tokens", {"away": [away(tokens=1)]}),
    ],
)
def test_what_no_process_should_say_is_refused_by_name(
    field: str, changes: dict[str, Any], caller: Caller
) -> None:
    answer = hear(caller, **changes)

    assert answer.status_code == 400
    assert answer.json()["field"] == field
    assert not CallerProcess.objects.exists()
    assert not AwayReport.objects.exists()
