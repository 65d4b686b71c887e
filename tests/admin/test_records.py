"""Calls and usage are browsed, with their arithmetic."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.test import Client

from budget import services
from budget.ledger.operations import Admission, AdmissionRequest
from budget.models import Pool, UsageHour, UsageMinute
from tests.admin.conftest import class_url, pool_url, url

pytestmark = pytest.mark.usefixtures("committed")


def offer(workload_class: str, tokens: int, source: str = "") -> Admission:
    return services.admit(
        AdmissionRequest(
            pool="claims",
            workload_class=workload_class,
            input_tokens=tokens,
            output_tokens=100,
            source=source,
            tags={"claim": "C-17"},
        )
    )


def found(client: Client, query: str) -> set[str]:
    answer = client.get(url("call_changelist") + query)
    assert answer.status_code == 200
    return {str(call.pk) for call in answer.context["cl"].result_list}


def test_calls_are_filtered_and_searched(viewer: Client, claims: Pool) -> None:
    served = offer("adjuster", 500, "claims/triage.py:12")
    shed = offer("nightly", 90_000, "claims/nightly.py:3")
    assert found(viewer, "") == {str(served.id), str(shed.id)}
    assert found(viewer, "?workload_class=nightly") == {str(shed.id)}
    assert found(viewer, "?state__exact=shed") == {str(shed.id)}
    assert found(viewer, f"?reason={shed.reason}") == {str(shed.id)}
    assert found(viewer, "?q=triage") == {str(served.id)}
    assert found(viewer, f"?q={served.id}") == {str(served.id)}
    assert found(viewer, f"?pool_id={claims.pk}") == {str(served.id), str(shed.id)}
    assert found(viewer, "?pool_id=x") == set()


def test_a_call_shows_tags_usage_and_the_decisions_arithmetic(viewer: Client, claims: Pool) -> None:
    served = offer("adjuster", 500)
    services.settle(served.id, "succeeded", 400, 50, 30)
    page = viewer.get(url("call_change", served.id))
    text = page.content.decode()
    assert "C-17" in text
    assert "600 fits the class&#x27;s own floor of 50,000." in text
    assert "Used, succeeded" in text
    assert 'name="_save"' not in text
    assert {verdict.limit for verdict in page.context["verdicts"]} == {
        "total tokens per minute",
        "requests per minute",
        "requests at once",
    }


def test_a_shed_call_shows_which_limit_refused_it(viewer: Client, claims: Pool) -> None:
    offer("adjuster", 15_000)
    while (shed := offer("nightly", 9_000)).admitted:
        pass
    page = viewer.get(url("call_change", shed.id))
    (refused,) = [verdict for verdict in page.context["verdicts"] if not verdict.fits]
    assert shed.limit == "total_tokens/token_bucket"
    assert refused.limit == "total tokens per minute"
    assert "is more than" in refused.words


def test_a_call_that_never_was_is_not_found(viewer: Client) -> None:
    assert viewer.get(url("call_change", uuid4())).status_code == 302


def test_usage_is_listed_with_its_reasons(viewer: Client, claims: Pool) -> None:
    UsageMinute.objects.create(
        pool_id=claims.pk,
        workload_class="nightly",
        minute=datetime(2026, 1, 1, tzinfo=UTC),
        offered=3,
        admitted=1,
        shed={"headroom": 2},
        charged=100,
        allowance=400,
    )
    page = viewer.get(url("usageminute_changelist")).content.decode()
    assert "2 headroom" in page
    assert "25 %" in page
    assert "2026-01-01 00:00" in page


def test_a_minute_names_its_pool(viewer: Client, claims: Pool) -> None:
    minute = UsageMinute.objects.create(
        pool_id=claims.pk,
        workload_class="nightly",
        minute=datetime(2026, 1, 1, tzinfo=UTC),
        used_tokens=12_345,
        would_shed={"ceiling": 1},
    )
    page = viewer.get(url("usageminute_change", minute.pk)).content.decode()
    assert '<div class="readonly">claims</div>' in page
    assert "12,345" in page
    assert "1 ceiling" in page
    assert "historylink" not in page


def test_a_pool_that_observes_counts_what_it_would_have_shed(viewer: Client, claims: Pool) -> None:
    page = viewer.get(pool_url(claims))
    assert "Would shed" not in page.content.decode()
    Pool.objects.update(mode="observe")
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=30)
    UsageHour.objects.create(
        pool_id=claims.pk,
        workload_class="nightly",
        hour=hour,
        minute=hour,
        offered=9,
        admitted=9,
        would_shed={"headroom": 3, "ceiling": 2},
    )
    for _ in range(2):
        offer("nightly", 29_000)
    page = viewer.get(pool_url(claims))
    assert "Would shed" in page.content.decode()
    *_, usage = page.context["usages"]
    assert (usage.day.would_shed, usage.week.would_shed) == (1, 6)
    assert "Would shed" in viewer.get(class_url("nightly")).content.decode()
