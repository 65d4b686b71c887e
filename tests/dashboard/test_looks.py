"""Pages as people get them: light and dark, on a phone, without scripts, by axe-core."""

from datetime import datetime

import pytest
from pytest_django.live_server_helper import LiveServer

from budget.models import Pool, WorkloadClass
from tests.dashboard.addresses import class_page, pool_page
from tests.dashboard.usage import MINUTE, month, record, ten_classes
from tests.dashboard.watching import OVERFLOW, Watcher, watching, words

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed")]

HEAVIEST = 250 * 1000
LONGEST_NAME = "x" * 50
EMPTY = pool_page(query="from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z")
PAGES = ["/dashboard/", pool_page(), class_page("nightly"), class_page("~untagged"), EMPTY]


def look_at_all(watcher: Watcher) -> list[str]:
    """What is wrong with any page, with all that opens on it open."""
    found = []
    for address in PAGES:
        page = watcher.open(address)
        page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")
        page.wait_for_timeout(100)
        found += [f"{address} {fault}" for fault in watcher.axe()]
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_core_finds_nothing(
    history: datetime, live_server: LiveServer, session: str, scheme: str
) -> None:
    with watching(live_server.url, session, color_scheme=scheme) as watcher:
        assert look_at_all(watcher) == []
        watcher.open(pool_page(query="range=never"))
        assert watcher.axe() == []
        assert watcher.strangers == []


def test_a_phone_shows_all_without_scrolling_sideways(
    history: datetime, live_server: LiveServer, session: str
) -> None:
    phone = {"width": 390, "height": 844}
    WorkloadClass.objects.create(slug=LONGEST_NAME, tier="bulk", deadline_seconds=60)
    record(Pool.objects.get(), history + 9 * MINUTE, LONGEST_NAME, offered=1, shed={"r" * 200: 1})
    with watching(live_server.url, session, viewport=phone) as watcher:
        for address in [*PAGES, class_page(LONGEST_NAME)]:
            page = watcher.open(address)
            page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")
            assert page.evaluate(OVERFLOW) == 0, address
        assert watcher.axe() == []
        assert watcher.complaints == []


def test_a_page_is_light_and_comes_from_one_host(
    history: datetime, live_server: LiveServer, session: str
) -> None:
    """One test for all ranges: the month takes longest. Each has a browser that knows nothing."""
    month(ten_classes(), history)
    for name in ("live", "24h", "7d"):
        with watching(live_server.url, session) as watcher:
            page = watcher.open(pool_page("busy", f"range={name}"))
            page.wait_for_load_state("networkidle")
            assert watcher.weight <= HEAVIEST, name
            assert watcher.strangers == [], name
            assert watcher.complaints == [], name


def test_colours_follow_the_viewer_while_the_page_stands_open(watcher: Watcher) -> None:
    page = watcher.open(pool_page())
    plot = watcher.figure("use").locator(".plot")
    light = plot.screenshot()
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(300)
    assert plot.screenshot() != light
    assert watcher.complaints == []


def test_any_time_is_chosen_in_the_zone_of_the_viewer(watcher: Watcher) -> None:
    page = watcher.open(pool_page())
    page.get_by_text("Other time").click()
    page.get_by_label("From", exact=True).fill("2026-07-01T10:00")
    page.get_by_label("To", exact=True).fill("2026-07-01T12:00")
    with page.expect_navigation():
        page.get_by_role("button", name="Show").click()
    assert page.url.endswith("?from=2026-07-01T08:00:00Z&to=2026-07-01T10:00:00Z"), "in summer"
    assert (
        words(page.locator("[data-status]")) == "From 1 Jul 2026, 10:00:00 to 1 Jul 2026, 12:00:00"
    )
    assert page.get_by_label("From", exact=True).input_value() == "2026-07-01T10:00"


def test_without_scripts_the_numbers_stand_in_utc(
    history: datetime, live_server: LiveServer, session: str
) -> None:
    with watching(live_server.url, session, java_script_enabled=False) as watcher:
        page = watcher.page
        page.goto(live_server.url + pool_page())
        assert "UTC" in words(page.locator("[data-figure=shed] [data-finding]"))
        assert "Charts are drawn by JavaScript" in words(page.locator("#board"))
        assert words(page.locator(".zone")) == "Times are in UTC."
        page.get_by_text("Other time").click()
        page.get_by_label("From", exact=True).fill("2026-07-01T08:00:00Z")
        page.get_by_label("To", exact=True).fill("2026-07-01T10:00:00Z")
        page.get_by_role("button", name="Show").click()
        assert "from=2026-07-01" in page.url
        assert "Nothing was recorded" in words(page.locator("#board"))
