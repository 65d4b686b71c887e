"""Pages that stand open move on by themselves, and say when they can't."""

from datetime import datetime

import pghistory
import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Locator, Page, Route, expect

from budget import services
from budget.models import Reservation, WorkloadClass
from tests.dashboard.addresses import class_page, pool_page
from tests.dashboard.watching import Watcher, aside, words

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed")]

LIVE = pool_page(query="range=live")
POLLS = "**/dashboard/claims/live/**"
HIDE = """hidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def admit(workload_class: str | None = "adjuster") -> None:
    services.admit(
        services.AdmissionRequest(
            pool="claims", workload_class=workload_class, input_tokens=9000, output_tokens=3000
        ),
        services.IN_PROCESS,
    )


def status(page: Page) -> Locator:
    return page.locator("[data-status]")


def cell(page: Page, row: int, name: str) -> Locator:
    return page.locator("[data-row]").nth(row).locator(f"[data-name='{name}']")


def test_a_call_moves_figures_table_words_and_limits_without_a_reload(watcher: Watcher) -> None:
    page = watcher.open(LIVE)
    page.evaluate("window.untouched = true")
    offered = int(words(cell(page, 0, "Offered")).replace(",", ""))
    page.locator("[data-figure=use] .plot").press("End")
    before = words(watcher.figure("use").locator("[data-finding]"))
    aside(admit)
    expect(cell(page, 0, "Offered")).to_have_text(f"{offered + 1:,}")
    expect(page.locator("[data-level-text]").last).to_have_text("2.5 % in use, 39 of 40 available")
    assert words(watcher.figure("use").locator("[data-finding]")) != before
    plot, readout = (
        watcher.figure("use").locator(".plot"),
        watcher.figure("use").locator(".readout"),
    )
    told = []
    for key in ("Home", "End", "ArrowLeft"):  # the last, if a minute has just begun
        plot.press(key)
        told.append(words(readout))
    assert "adjuster 12,000" in " ".join(told)
    assert page.evaluate("window.untouched")
    assert words(status(page)).startswith("Live, as of ")
    assert watcher.complaints == []


def test_an_open_data_table_follows(watcher: Watcher) -> None:
    page = watcher.open(LIVE)
    use = watcher.figure("use")
    use.get_by_text("Data table").click()
    expect(use.locator("tbody tr").first.locator("td").first).to_have_text("0")
    aside(admit)
    expect(use.locator("tbody tr td", has_text="12,000").first).to_be_visible()
    assert page.locator("table").count() >= 2


def test_a_policy_change_gets_its_mark(watcher: Watcher) -> None:
    page = watcher.open(LIVE)
    marks = watcher.figure("use").locator(".marks a")
    shown = page.locator(".changes > li").count()

    def edit() -> None:
        with pghistory.context(username="bob", reason="<i>calm</i> season"):
            rows = Reservation.objects.filter(workload_class__slug="adjuster")
            rows.update(share_percent=45)

    aside(edit)
    expect(page.locator(".changes > li")).to_have_count(shown + 1)
    newest = page.locator(".changes > li").first
    assert "bob <i>calm</i> season" in words(newest)
    assert "share 50 % → 45 %" in words(newest)
    assert "/admin/budget/policyhistory/" in (newest.locator("a").get_attribute("href") or "")
    assert marks.count() >= 1
    assert watcher.complaints == []


def test_lines_that_come_are_drawn_without_a_reload(watcher: Watcher) -> None:
    page = watcher.open(LIVE)
    page.evaluate("window.untouched = true")
    aside(lambda: admit(None))
    expect(page.locator("[data-row]")).to_have_count(4)
    expect(watcher.figure("shed").locator(".legend li").last).to_have_text("untagged calls")
    assert "untagged calls 1, all because they named no class" in words(watcher.figure("shed"))
    assert page.evaluate("window.untouched")
    assert watcher.complaints == []


def test_states_follow(watcher: Watcher) -> None:
    page = watcher.open(class_page("nightly", query="range=live"))
    aside(lambda: WorkloadClass.objects.filter(slug="nightly").update(paused=True))
    expect(page.locator("[data-states] .badge").first).to_have_text("paused")


def test_a_lost_connection_is_told_and_mends_by_itself(watcher: Watcher) -> None:
    page = watcher.open(LIVE)
    lost = True

    def break_off(route: Route) -> None:
        if lost:
            route.abort()
        else:
            route.continue_()

    page.route(POLLS, break_off)
    expect(status(page)).to_contain_text("No answer: these numbers stand still.")
    lost = False
    expect(status(page)).to_contain_text("Live, as of", timeout=10_000)


def test_an_error_of_the_server_is_told_and_mends_by_itself(watcher: Watcher) -> None:
    page = watcher.open(LIVE)
    page.route(POLLS, lambda route: route.fulfill(status=503, body="busy"))
    expect(status(page)).to_contain_text("It goes on by itself")
    page.unroute(POLLS)
    expect(status(page)).to_contain_text("Live, as of", timeout=10_000)


def test_a_lost_login_is_told_with_the_way_back(watcher: Watcher) -> None:
    page = watcher.open(LIVE)
    aside(lambda: Session.objects.all().delete())
    expect(status(page)).to_contain_text("You were logged out")
    with page.expect_navigation():
        status(page).get_by_role("link", name="Log in").click()
    assert "login/?next=" in page.url


def test_nobody_is_asked_while_nobody_looks(watcher: Watcher) -> None:
    page = watcher.open(LIVE)
    with page.expect_response(POLLS):
        pass
    page.evaluate(HIDE, True)
    page.wait_for_timeout(300)
    asked = len([a for a in watcher.answers if "/live/" in a.url])
    page.wait_for_timeout(2500)
    assert len([a for a in watcher.answers if "/live/" in a.url]) == asked
    with page.expect_response(POLLS):
        page.evaluate(HIDE, False)


def test_a_time_that_was_asks_for_nothing(watcher: Watcher, history: datetime) -> None:
    page = watcher.open(pool_page(query=f"from={history:%Y-%m-%dT%H:%M:%SZ}"))
    page.wait_for_timeout(2500)
    assert not any("/live/" in answer.url for answer in watcher.answers)
    assert words(status(page)).startswith("From ")


def test_the_list_of_pools_follows(watcher: Watcher) -> None:
    page = watcher.open("/dashboard/")
    page.evaluate("window.untouched = true")
    aside(lambda: WorkloadClass.objects.filter(slug="nightly").update(paused=True))
    expect(page.locator("#pools .badge.paused")).to_have_text("paused", timeout=15_000)
    assert page.evaluate("window.untouched")
