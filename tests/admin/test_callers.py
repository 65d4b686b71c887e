"""Who calls, who forgets to name a class, and what callers decided while the service was away."""

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse

from budget import services
from budget.ledger.operations import AdmissionRequest
from budget.models import AwayReport, Call, Pool, WorkloadClass
from budget.services import AwayReport as Report
from tests.admin.conftest import url

pytestmark = pytest.mark.usefixtures("committed")


def call(source: str, workload_class: str | None = None) -> None:
    services.admit(
        AdmissionRequest(
            pool="claims",
            workload_class=workload_class,
            input_tokens=900,
            output_tokens=100,
            source=source,
        )
    )


def cells(client: Client, query: str = "") -> list[list[str]]:
    """The table's rows as text."""
    answer = client.get(url("untaggedcaller_changelist") + query)
    assert answer.status_code == 200
    body = answer.content.decode().partition("<tbody>")[2].partition("</tbody>")[0]
    return [
        [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in body.split("</tr>")[:-1]
    ]


def test_untagged_callers_stand_by_call_site_and_lead_to_their_calls(
    viewer: Client, claims: Pool
) -> None:
    call("claims/old.py:3")
    call("claims/tagged.py:1", "nightly")
    claims.untagged_class = WorkloadClass.objects.get(slug="nightly")
    claims.save()
    for _ in range(2):
        call("claims/old.py:3")
    fallen, shed = cells(viewer)
    assert fallen[:7] == ["claims/old.py:3", "claims", "in process", "nightly", "2", "0", "2,000"]
    assert shed[:7] == ["claims/old.py:3", "claims", "in process", "none: shed", "1", "1", "1,000"]
    page = viewer.get(url("untaggedcaller_changelist"))
    assert "Tokens asked for</th>" in page.content.decode()
    told = page.context["sites"][0]
    listed = viewer.get(told.calls_url).context["cl"].result_list
    assert [(one.source, one.untagged, one.workload_class) for one in listed] == [
        ("claims/old.py:3", True, "nightly")
    ] * 2


def test_a_week_is_one_press_away(viewer: Client, claims: Pool) -> None:
    call("claims/old.py:3")
    Call.objects.update(offered_at=F("offered_at") - timedelta(days=2))
    page = viewer.get(url("untaggedcaller_changelist")).content.decode()
    assert "Every call of the last 24 hours named its class." in page
    assert len(cells(viewer, "?days=7")) == 1
    assert cells(viewer, "?days=x") == []


def test_untagged_callers_are_for_those_who_may_see_calls(
    viewer: Client, staff: Client, claims: Pool
) -> None:
    name = "Untagged callers"
    assert name in viewer.get(reverse("admin:index")).content.decode()
    assert name not in staff.get(reverse("admin:index")).content.decode()


def test_a_source_is_text_and_no_page(viewer: Client, claims: Pool) -> None:
    call("<script>alert(1)</script>")
    assert b"<script>alert" not in viewer.get(url("untaggedcaller_changelist")).content


def away(**changes: Any) -> dict[str, Any]:
    """What a process reports of an outage."""
    told = {
        "report": uuid4(),
        "workload_class": "adjuster",
        "choice": "local",
        "admitted": 7,
        "shed": 3,
        "input_tokens": 6000,
        "output_tokens": 700,
        "first_at_ms_ago": 120_000,
        "last_at_ms_ago": 60_000,
    }
    return told | changes


def test_away_reports_stand_newest_first_and_the_untagged_ones_can_be_had_alone(
    viewer: Client, claims: Pool
) -> None:
    told = [
        away(last_at_ms_ago=50_000, admitted=1200),
        away(last_at_ms_ago=10_000, workload_class=None, choice="shed"),
        away(last_at_ms_ago=90_000, workload_class="nightly"),
    ]
    services.hear("claims", uuid4(), "web-1", [Report(**report) for report in told])
    page = viewer.get(url("awayreport_changelist"))
    listed = [row.workload_class for row in page.context["cl"].result_list]
    assert listed == ["", "adjuster", "nightly"]
    text = page.content.decode()
    assert "Each row is one report" in text
    assert '<td class="field-choice_name">local</td>' in text
    assert '<td class="field-admitted_calls">1,200</td>' in text
    for query, wanted in (("workload_class=~untagged", [""]), ("choice=shed", [""])):
        found = viewer.get(url("awayreport_changelist") + f"?{query}").context["cl"].result_list
        assert [row.workload_class for row in found] == wanted
        assert f"?{query}" in text, "the filter offers it"


def test_processes_and_reports_are_listed_and_cant_be_edited(viewer: Client, claims: Pool) -> None:
    report = away()
    process = uuid4()
    services.hear("claims", process, "web-1:4711", [Report(**report)])
    processes = viewer.get(url("callerprocess_changelist")).content.decode()
    assert "web-1:4711" in processes
    assert "in process" in processes
    reports = viewer.get(url("awayreport_changelist")).content.decode()
    assert "6,000 + 700" in reports
    one = viewer.get(url("awayreport_change", AwayReport.objects.get().pk)).content.decode()
    assert str(report["report"]) in one
    assert 'name="_save"' not in one
    for page, known in (("callerprocess", process), ("awayreport", report["report"])):
        for wanted, found in ((known, 1), (uuid4(), 0)):
            answer = viewer.get(url(f"{page}_changelist") + f"?q={wanted}")
            assert len(answer.context["cl"].result_list) == found
