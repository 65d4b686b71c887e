"""Untagged callers have their place, by call site, only while there are any."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from budget import services
from budget.ledger.operations import AdmissionRequest
from budget.models import Call, Pool, UsageMinute, WorkloadClass
from tests.admin.conftest import client_with
from tests.dashboard.addresses import live_page, pool_page
from tests.dashboard.test_pool import Opened, opened
from tests.dashboard.usage import MINUTE, record

pytestmark = pytest.mark.django_db(transaction=True)

HEADING = "Untagged callers"
OVERVIEW = "/dashboard/"


@pytest.fixture
def let_in(committed: None, claims: Pool) -> Pool:
    """Untagged calls fall into `nightly`."""
    claims.untagged_class = WorkloadClass.objects.get(slug="nightly")
    claims.save()
    return claims


def call(source: str = "", workload_class: str | None = None, tokens: int = 1000) -> None:
    services.admit(
        AdmissionRequest(
            pool="claims",
            workload_class=workload_class,
            input_tokens=tokens,
            output_tokens=0,
            source=source,
        )
    )


def figures(page: Opened) -> dict[str, Any]:
    return {told.figure.name: told for told in page["figures"]}


def an_hour_ago() -> datetime:
    return datetime.now(UTC).replace(second=0, microsecond=0) - 30 * MINUTE


def test_they_are_drawn_by_what_took_them_in(viewer: Client, committed: None, claims: Pool) -> None:
    shed = {"untagged": 3}
    record(claims, an_hour_ago(), "", offered=3, untagged=3, shed=shed)
    record(claims, an_hour_ago(), "nightly", offered=97, admitted=97, untagged=9)
    told = figures(opened(viewer, pool_page()))["untagged"]
    assert told.caption.startswith(
        "12 calls named no class, 12 % of all that was offered: 9 into nightly, 3 shed."
    )
    assert [(s.name, sum(filter(None, s.values))) for s in told.figure.series] == [
        ("into nightly", 9),
        ("shed", 3),
    ]


def test_without_any_there_is_no_place_for_them(viewer: Client, history: datetime) -> None:
    for page in (opened(viewer, pool_page()), opened(viewer, OVERVIEW)):
        assert HEADING not in page.html
    assert "untagged" not in figures(opened(viewer, pool_page()))


def test_each_call_site_leads_to_its_calls_and_its_sheds(viewer: Client, let_in: Pool) -> None:
    call("claims/old.py:3")
    call("claims/old.py:3", tokens=10**7)
    call("claims/tagged.py:1", "adjuster")
    call("claims/tagged.py:1", "adjuster")
    page = opened(viewer, pool_page())
    assert HEADING in page.html
    (place,) = page["untagged"].shown
    assert (place.site.source, place.site.calls, place.site.shed) == ("claims/old.py:3", 2, 1)
    assert (place.site.workload_class, place.rate) == ("nightly", "50 %")
    assert len(viewer.get(place.sheds).context["entries"]) == 1
    assert len(viewer.get(place.calls).context["cl"].result_list) == 2


def test_the_overview_names_the_newest_of_the_last_hour(viewer: Client, let_in: Pool) -> None:
    for n in range(5):
        call(f"claims/old.py:{n}")
    page = opened(viewer, OVERVIEW)
    assert HEADING in page.html
    assert "5 calls named no class, 100 % of all that was offered in the last hour." in page.html
    (now,) = page["pools"]
    assert [place.site.source for place in now.untagged.shown] == [
        f"claims/old.py:{n}" for n in (4, 3, 2)
    ]


def test_the_key_tells_two_callers_of_one_source_apart(viewer: Client, let_in: Pool) -> None:
    for key in ("key00001", "key00002"):
        call("claims/old.py:3")
        Call.objects.filter(key_prefix="").update(key_prefix=key)
    call("claims/own.py:1")
    html = opened(viewer, OVERVIEW).html
    for key in ("key00001", "key00002"):
        assert f"{key}: 1 call, 33 %, into nightly" in html
    assert html.count(": 1 call") == 2, "where the source is enough, it stands alone"


def test_what_no_class_took_in_is_called_shed(
    viewer: Client, committed: None, claims: Pool
) -> None:
    call("claims/old.py:3")
    html = opened(viewer, OVERVIEW).html
    assert "1 call, 100 %, shed" in html
    assert "no class</span>" not in html
    assert (
        '<td data-name="Fell into" class="wrap">none: shed</td>' in opened(viewer, pool_page()).html
    )


def test_what_was_before_the_time_shown_is_left_out(viewer: Client, let_in: Pool) -> None:
    call("claims/old.py:3")
    earlier = timedelta(hours=3)
    Call.objects.update(offered_at=datetime.now(UTC) - earlier)
    record(let_in, an_hour_ago() - earlier, "nightly", offered=1, admitted=1, untagged=1)
    page = opened(viewer, pool_page(query="range=24h"))
    assert [place.site.source for place in page["untagged"].shown] == ["claims/old.py:3"]
    assert UsageMinute.objects.count() == 1
    assert opened(viewer, pool_page(query="range=15m"))["untagged"].shown == []


def test_sources_are_for_those_who_may_see_calls(let_in: Pool) -> None:
    call("claims/old.py:3")
    una = client_with("una", "view_usageminute")
    page = opened(una, pool_page())
    assert "claims/old.py:3" not in page.html + opened(una, OVERVIEW).html
    assert "untagged" in figures(page)


def test_a_source_is_text_and_no_page(viewer: Client, let_in: Pool) -> None:
    call("<script>alert(1)</script>")
    for address in (pool_page(), OVERVIEW):
        assert "<script>alert" not in opened(viewer, address).html


def test_the_first_one_lets_an_open_page_take_in_its_place(viewer: Client, let_in: Pool) -> None:
    call("claims/tagged.py:1", "nightly")
    before = viewer.get(live_page()).json()["shape"]
    call("claims/tagged.py:1", "nightly")
    assert viewer.get(live_page()).json()["shape"] == before
    call("claims/old.py:3")
    assert viewer.get(live_page()).json()["shape"] != before
