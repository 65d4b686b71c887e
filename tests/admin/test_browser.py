"""The pool and job pages in a real browser, under the project's content security policy.

While Playwright runs, its event loop keeps Django's database out of this thread: what is
stored is read off the pages.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Group, User
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from budget.models import UsageMinute
from budget.policy.groups import EDITORS
from tests.admin.conftest import pool_url, url
from tests.browsing import browsing
from tests.jobs.queueing import enqueue, finish, take_one
from tests.policies import claims_pool

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed")]


@pytest.fixture
def complaints() -> list[str]:
    """What the browser had to say."""
    return []


@pytest.fixture
def pool_page(committed: None, live_server: LiveServer, complaints: list[str]) -> Iterator[Page]:
    """An editor's pool page."""
    editor = User.objects.create_user("ada", password="secret", is_staff=True)
    editor.groups.add(Group.objects.get(name=EDITORS))
    claims = claims_pool()
    UsageMinute.objects.create(
        pool_id=claims.pk,
        workload_class="adjuster",
        minute=datetime(2026, 1, 1, tzinfo=UTC),
        offered=10_000,
        admitted=8_766,
        shed={"floor_protected": 1_234},
        estimated_tokens=203_456_789,
        used_tokens=102_345_678,
    )
    enqueue(args={"claim": 1207}, source="claims/scoring/tasks.py:57")
    finish(
        take_one(),
        ending="sent_away",
        outcome="rate_limited",
        error="The provider sent it away: 429 Too many requests, try again in 20 seconds.",
        rest_seconds=0,
    )
    address = live_server.url + pool_url(claims)
    with browsing(viewport={"width": 1280, "height": 800}) as context:
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
        page.goto(address)
        page.fill("#id_username", "ada")
        page.fill("#id_password", "secret")
        page.click("input[type=submit]")
        page.wait_for_selector("#pool_form")
        yield page


def test_an_editor_changes_a_share_and_reverts_it(
    pool_page: Page, live_server: LiveServer, complaints: list[str]
) -> None:
    pool_page.click("text=Add another Reservation")
    pool_page.click("a.inline-deletelink")
    pool_page.fill("#id_reservations-0-share_percent", "45")
    pool_page.fill("#id_reason", "quiet season")
    pool_page.click("input[name=_save]")
    pool_page.wait_for_selector(".messagelist .success")

    pool_page.goto(live_server.url + url("policyhistory_changelist"))
    newest = pool_page.locator("article").first
    assert "share 50 % → 45 %" in newest.inner_text()
    assert "quiet season" in newest.inner_text()

    newest.locator("text=Revert").click()
    pool_page.fill("#id_reason", "storm")
    pool_page.click("input[value=Revert]")
    pool_page.wait_for_selector(".messagelist .success")
    lines = pool_page.locator("article").first.inner_text()
    assert "share 45 % → 50 %" in lines
    assert "storm" in lines
    assert complaints == []


def test_the_meters_show_a_full_pool(pool_page: Page, complaints: list[str]) -> None:
    assert pool_page.locator("meter").count() == 3
    first = pool_page.locator("article").first.inner_text()
    assert "100,000 of 100,000 available now, 30,000 of it free" in first
    assert complaints == []


HIDDEN = "part => part.scrollWidth - part.clientWidth"


@pytest.mark.parametrize("records", ["usageminute_changelist", "job_changelist"])
def test_all_columns_of_a_list_fit_a_small_laptop(
    pool_page: Page, live_server: LiveServer, records: str
) -> None:
    pool_page.goto(live_server.url + url(records))
    assert pool_page.locator(".results").evaluate(HIDDEN) == 0


def test_a_job_is_cancelled_from_its_page(
    pool_page: Page, live_server: LiveServer, complaints: list[str]
) -> None:
    assert "rescore" in pool_page.get_by_label("Queues now").inner_text()
    assert pool_page.get_by_label("Queues now").evaluate(HIDDEN) == 0
    pool_page.goto(live_server.url + url("job_changelist"))
    pool_page.locator("#result_list .field-enqueued a").click()
    pool_page.click("text=Cancel…")
    pool_page.fill("#id_reason", "wrong model")
    pool_page.click("input[value='Cancel the job']")
    pool_page.wait_for_selector(".messagelist .success")
    decided = pool_page.locator(".budget-panel", has_text="What was decided about it").inner_text()
    assert "Cancelled" in decided
    assert "wrong model" in decided
    assert complaints == []


def test_a_phone_shows_whole_rows_of_queues_trails_and_calls(
    pool_page: Page, live_server: LiveServer
) -> None:
    pool_page.set_viewport_size({"width": 375, "height": 720})
    assert pool_page.get_by_label("Queues now").evaluate(HIDDEN) == 0
    pool_page.goto(live_server.url + url("job_changelist"))
    pool_page.locator("#result_list .field-enqueued a").click()
    pool_page.wait_for_selector(".budget-json")
    panels = pool_page.locator(".budget-panel")
    assert panels.count() == 4
    for panel in panels.all():
        assert panel.evaluate(HIDDEN) == 0
