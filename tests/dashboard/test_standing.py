"""What somebody holds on a page stays as it is while the page moves on by itself."""

import json
from datetime import datetime
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from budget.models import Pool, UsageMinute
from tests.dashboard.addresses import class_page, pool_page
from tests.dashboard.test_moving import POLLS, admit, status
from tests.dashboard.usage import MINUTE, record
from tests.dashboard.watching import Watcher, aside, words

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed")]

LIVE = pool_page(query="range=live")
ACTIVE = "document.activeElement.outerHTML.slice(0, 200)"


def a_minute_later(route: Route) -> None:
    """Answers a poll as it will be answered in a minute, in which nobody calls."""
    answer = route.fetch()
    told: dict[str, Any] = answer.json()
    step = told["step"]
    told |= {"start": told["start"] + step, "at": told["at"] + step, "since": told["since"] + step}
    route.fulfill(response=answer, body=json.dumps(told))


def polls(page: Page, count: int = 2) -> None:
    for _ in range(count):
        with page.expect_response(POLLS):
            pass
    page.wait_for_timeout(200)


def shedding(history: datetime) -> None:
    """Nightly is shed in each of the last minutes, each time another number."""
    pool = Pool.objects.get()
    for n in range(57, 60):
        record(pool, history + n * MINUTE, "guest", offered=n, shed={"ceiling": n})


def focused(page: Page, locator: Locator) -> None:
    locator.focus()
    page.evaluate("window.had = document.activeElement")


def test_the_cursor_stays_with_its_minute(watcher: Watcher, history: datetime) -> None:
    aside(lambda: shedding(history))
    page = watcher.open(LIVE)
    plot, readout = (
        watcher.figure("shed").locator(".plot"),
        watcher.figure("shed").locator(".readout"),
    )
    plot.press("End")
    while "guest 58" not in words(readout):
        plot.press("ArrowLeft")
    held = words(readout)
    address = readout.locator("a").get_attribute("href") or ""
    page.route(POLLS, a_minute_later, times=1)
    polls(page, 1)
    assert words(readout) == held
    line = watcher.figure("shed").locator(".u-cursor-x")
    assert line.evaluate("one => one.getBoundingClientRect().left") > 0
    with page.expect_navigation():
        plot.press("Enter")
    assert page.url.endswith(address)


def test_a_cursor_whose_minute_leaves_is_gone(watcher: Watcher) -> None:
    page = watcher.open(LIVE)
    use = watcher.figure("use")
    use.locator(".plot").press("Home")
    assert words(use.locator(".readout"))
    page.route(POLLS, a_minute_later, times=1)
    polls(page, 1)
    assert words(use.locator(".readout")) == ""
    use.locator(".plot").press("ArrowLeft")
    assert words(use.locator(".readout"))


@pytest.mark.parametrize(
    "what",
    [".marks a", "[data-reasons] a", "[data-figure=shed] tbody a", ".readout a", ".legend button"],
)
def test_the_focus_stays_where_it_is(watcher: Watcher, history: datetime, what: str) -> None:
    aside(lambda: shedding(history))
    page = watcher.open(LIVE)
    shed = watcher.figure("shed")
    shed.get_by_text("Data table").click()
    shed.locator(".plot").press("End")
    while "guest" not in words(shed.locator(".readout")):
        shed.locator(".plot").press("ArrowLeft")
    polls(page, 1)
    focused(page, page.locator(what).first)
    before = page.evaluate(ACTIVE)
    aside(admit)
    polls(page)
    assert page.evaluate("document.activeElement === window.had"), page.evaluate(ACTIVE)
    assert page.evaluate(ACTIVE) == before
    assert watcher.complaints == []


def test_lines_that_come_leave_focus_cursor_table_and_what_is_hidden(watcher: Watcher) -> None:
    page = watcher.open(LIVE)
    shed = watcher.figure("shed")
    shed.get_by_text("Data table").click()
    shed.get_by_role("button", name="nightly").click()
    shed.locator(".plot").press("End")
    shed.locator(".plot").press("ArrowLeft")
    held = words(shed.locator(".readout time").first)
    aside(lambda: admit(None))
    expect(shed.locator(".legend li").last).to_have_text("untagged calls")
    assert page.evaluate("document.activeElement.closest('[data-figure]').dataset.figure") == "shed"
    assert page.evaluate("document.activeElement.className").startswith("plot")
    assert words(shed.locator(".readout time").first) == held
    assert shed.get_by_role("button", name="nightly").get_attribute("aria-pressed") == "false"
    assert shed.locator("table").is_visible()


def test_reasons_that_change_rank_rebuild_nothing(watcher: Watcher, history: datetime) -> None:
    def shed(n: int, **shed: int) -> None:
        nightly = UsageMinute.objects.filter(workload_class="nightly")
        nightly.filter(minute=history + n * MINUTE).update(shed=shed)

    aside(lambda: shed(57, ceiling=5, headroom=4))
    page = watcher.open(class_page("nightly", query="range=live"))
    page.evaluate("window.had = document.querySelector('.plot')")
    aside(lambda: shed(58, headroom=9))
    polls(page)
    assert "18 were shed" in words(watcher.figure("calls"))
    assert page.evaluate("window.had.isConnected")


def test_a_state_is_announced_once_and_the_clock_never(watcher: Watcher) -> None:
    page = watcher.open(LIVE)
    page.evaluate(
        """() => {
          window.announced = 0;
          const region = document.querySelector("[data-status] [role=status]");
          const count = (changes) => (window.announced += changes.length);
          new MutationObserver(count).observe(region, {
            subtree: true, childList: true, characterData: true,
          });
        }"""
    )
    before = words(status(page))
    polls(page)
    assert words(status(page)) != before
    assert page.evaluate("window.announced") == 0
    page.route(POLLS, lambda route: route.abort())
    expect(status(page)).to_contain_text("No answer")
    assert page.evaluate("window.announced") > 0
    assert page.locator("[data-clock]").locator("xpath=ancestor::*[@role='status']").count() == 0


def test_the_step_that_goes_on_is_never_without_a_record(watcher: Watcher) -> None:
    page = watcher.open(LIVE)
    gaps = page.evaluate(
        """async () => {
          const { Timeline } = await import("/static/budget/dashboard/timeline.js");
          const at = { start: 0, step: 60, count: 4, at: 130 };
          const made = (known) => new Timeline({ ...at, known }).gaps;
          return [made("1100"), made("1000"), made("0010")];
        }"""
    )
    assert gaps == [[], [[1, 1]], [[0, 1]]]
    for name in ("depth", "wait"):
        figure = watcher.figure(name)
        figure.locator(".plot").press("End")
        told = words(figure.locator(".readout"))
        assert "nothing was recorded" not in told
        assert "not known" not in told


class TestOverview:
    """The list of pools is kept up to date by the same poller."""

    def test_an_error_is_told_and_mends_by_itself(self, watcher: Watcher) -> None:
        page = watcher.open("/dashboard/")
        assert words(status(page)).startswith("Live, as of ")
        page.clock.install()
        page.reload()
        page.route("**/dashboard/", lambda route: route.fulfill(status=503, body="busy"))
        page.clock.run_for(11_000)
        expect(status(page)).to_contain_text("No answer: these numbers stand still.")
        page.unroute("**/dashboard/")
        page.clock.run_for(11_000)
        expect(status(page)).to_contain_text("Live, as of")

    def test_a_lost_login_is_told(self, watcher: Watcher) -> None:
        page = watcher.page
        page.clock.install()
        watcher.open("/dashboard/")
        page.context.clear_cookies()
        page.clock.run_for(11_000)
        expect(status(page)).to_contain_text("You were logged out")

    def test_focus_stays(self, watcher: Watcher) -> None:
        page = watcher.page
        page.clock.install()
        watcher.open("/dashboard/")
        focused(page, page.locator("#pools h2 a").first)
        aside(lambda: Pool.objects.update(paused=True))
        page.clock.run_for(11_000)
        expect(page.locator("#pools")).to_contain_text("paused")
        assert page.evaluate("document.activeElement === window.had")


def test_a_server_that_hangs_is_told_also_while_the_board_is_replaced(watcher: Watcher) -> None:
    page = watcher.page
    page.clock.install()
    watcher.open(LIVE)
    hung: list[Route] = []

    def other_shape(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=json.dumps(answer.json() | {"shape": "another"}))

    page.route(POLLS, other_shape)
    page.route(f"**{LIVE}", lambda route: hung.append(route))
    page.clock.run_for(2500)
    page.wait_for_timeout(500)
    assert hung
    page.clock.run_for(11_000)
    expect(status(page)).to_contain_text("No answer: these numbers stand still.", timeout=15_000)
