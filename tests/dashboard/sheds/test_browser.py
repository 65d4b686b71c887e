"""Sheds in a real browser: from a spike to who caused it, to why, and back."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from budget.models import Call, Pool
from tests.dashboard.shedding import LONG, SCRIPT, shed, store
from tests.dashboard.watching import OVERFLOW, Watcher, watching

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed")]

LOOP = "classifier/loop.py:88"
SHEDS = "/dashboard/claims/sheds/"
LOOKS: list[dict[str, Any]] = [
    {},
    {"color_scheme": "dark"},
    {"viewport": {"width": 375, "height": 720}},
]


@pytest.fixture
def refused(claims: Pool) -> Call:
    """A loop of nightly was shed, and is among others of an hour with odd names."""
    now = datetime.now(UTC)
    for n in range(60):
        store(claims, now - timedelta(minutes=n / 2), source=f"claims/module_{n % 7}.py:{n}")
    tags = {SCRIPT: SCRIPT, LONG[:50]: LONG}
    store(claims, now - timedelta(minutes=9), source=LONG, tags=tags)
    store(claims, now - timedelta(minutes=8), source=SCRIPT, state=Call.State.SETTLED, tags=tags)
    store(claims, now - timedelta(minutes=7), workload_class="", reason="untagged", limit="")
    call = shed("nightly", 9_000, source=LOOP, tags={"team": "north"})
    for _ in range(20):
        call = shed("nightly", 9_000, source=LOOP, tags={"team": "north"})
    return call


@pytest.fixture
def watcher(refused: Call, live_server: LiveServer, session: str) -> Iterator[Watcher]:
    """An editor's browser."""
    with watching(live_server.url, session) as found:
        yield found


def go(watcher: Watcher, address: str) -> Page:
    """Open a page."""
    watcher.page.goto(watcher.url + address)
    return watcher.page


def test_from_a_spike_to_who_and_why_and_back(watcher: Watcher, refused: Call) -> None:
    page = go(watcher, "/dashboard/claims/?range=15m")
    page.get_by_role("link", name="Sheds", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sheds of claims")
    expect(page.locator("figcaption")).to_contain_text(f"comes from {LOOP}")

    page.get_by_role("region", name="Who was shed").get_by_role("link", name=LOOP).click()
    expect(page.locator(".chips")).to_contain_text(f"source {LOOP}")
    narrowed = page.url
    page.locator(".entries tbody a").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Why this call was shed")
    expect(page.locator(".remedies").first).to_contain_text("fewer total tokens")

    page.get_by_role("link", name="The change that made it").click()
    expect(page.locator("#content")).to_contain_text("nightly")
    page.go_back()
    page.go_back()
    assert page.url == narrowed
    page.locator(".chips a").first.click()
    expect(page.locator(".chips")).to_have_count(0)
    assert watcher.complaints == []
    assert watcher.strangers == []


def test_a_bar_leads_into_its_time(watcher: Watcher) -> None:
    page = go(watcher, f"{SHEDS}?range=1h")
    before = page.locator(".entries tbody tr").count()
    page.locator(".timeline svg a").first.click()
    expect(page).to_have_url(re.compile("from=.*&to="))
    assert 0 < page.locator(".entries tbody tr").count() < before
    assert watcher.complaints == []


def test_times_are_those_of_the_viewer(watcher: Watcher, refused: Call) -> None:
    page = go(watcher, f"{SHEDS}?range=15m")
    newest = page.locator(".entries tbody time").first
    assert newest.get_attribute("title") == f"{refused.offered_at:%Y-%m-%d %H:%M:%S} UTC"
    expect(page.locator(".zone")).to_contain_text("Europe/Berlin")


def test_any_time_is_chosen_in_the_zone_of_the_viewer_and_filters_stay(watcher: Watcher) -> None:
    page = go(watcher, f"{SHEDS}?range=1h&source_part=a%26b%3D+c&tag=team%3Dnorth&group=time")
    page.get_by_text("Other time").click()
    page.get_by_label("From", exact=True).fill("2026-07-01T10:00")
    page.get_by_label("To", exact=True).fill("2026-07-01T12:00")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("[data-status]")).to_contain_text("1 Jul 2026, 10:00:00 to")
    expect(page).to_have_url(re.compile(r"\?from=2026-07-01T08:00:00Z&to=2026-07-01T10:00:00Z&"))
    chips = ["source has “a&b= c” in it", "tag team: north"]
    for n, words in enumerate(chips):
        expect(page.locator(".chips li").nth(n)).to_contain_text(words)
    page.get_by_role("navigation", name="Time range").get_by_text("24 hours").click()
    expect(page.locator(".chips li").first).to_contain_text(chips[0])
    expect(page.get_by_role("heading", name="By Time")).to_be_visible()
    assert watcher.complaints == []


def test_all_moments_are_in_the_zone_of_the_viewer(watcher: Watcher, refused: Call) -> None:
    page = go(watcher, f"{SHEDS}?range=1h")
    told = page.locator(".timeline svg a title").last.text_content() or ""
    minute = refused.offered_at.astimezone(ZoneInfo("Europe/Berlin")).replace(second=0)
    assert told.startswith(f"{minute:%-d %b, %H:%M}: ")
    page.locator(".entries tbody a").first.click()
    expect(page.locator(".breadcrumbs")).to_contain_text(f"{minute:%Y, %H:%M}:")
    assert " UTC" not in page.locator("main").inner_text().replace("(UTC", "")


def test_filters_are_set_with_the_keyboard_alone(watcher: Watcher) -> None:
    page = go(watcher, f"{SHEDS}?range=1h")
    page.get_by_label("Part of the source").focus()
    page.keyboard.type("LOOP")
    page.keyboard.press("Tab")
    page.keyboard.type("team=north")
    page.keyboard.press("Enter")
    expect(page.locator(".chips")).to_contain_text("source has “LOOP” in it")
    expect(page.locator(".chips")).to_contain_text("tag team: north")
    expect(page.get_by_role("region", name="Who was shed").locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="take all away").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".chips")).to_have_count(0)
    page.get_by_role("navigation", name="Group by").get_by_role("link", name="Reason").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="By Reason")).to_be_visible()
    assert watcher.complaints == []


def test_the_download_is_what_is_shown(watcher: Watcher) -> None:
    page = go(watcher, f"{SHEDS}?range=1h&source={LOOP}")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as CSV").click()
    assert download.value.suggested_filename.startswith("sheds-claims-2")
    lines = download.value.path().read_text().splitlines()
    assert len(lines) == 22
    assert all(LOOP in line for line in lines[1:])


@pytest.mark.parametrize("look", LOOKS, ids=["light", "dark", "phone"])
def test_pages_are_sound_whatever_they_are_looked_at_with(
    refused: Call, live_server: LiveServer, session: str, look: dict[str, Any]
) -> None:
    call = reverse("budget:dashboard_call", args=[refused.pk])
    odd = [
        f"{SHEDS}?range=1h",
        f"{SHEDS}?range=1h&group=tag",
        f"{SHEDS}?range=1h&group=time",
        f"{SHEDS}?range=1h&class=~untagged&tag=team&source_part={LONG}",
        f"{SHEDS}?range=1h&source={LONG}&decision=shed&key=in+process&reason=headroom",
        f"{SHEDS}?reason=mood",
        call,
    ]
    with watching(live_server.url, session, **look) as watcher:
        for address in odd:
            page = go(watcher, address)
            assert watcher.axe() == [], address
            assert page.evaluate(OVERFLOW) == 0, address
        shown = [text for text in watcher.complaints if "400 (Bad Request)" not in text]
        assert shown == []
        assert watcher.strangers == []
        assert page.evaluate("document.querySelectorAll('script').length") == 1


def test_pages_work_without_javascript(
    refused: Call, live_server: LiveServer, session: str
) -> None:
    with watching(live_server.url, session, java_script_enabled=False) as watcher:
        page = go(watcher, f"{SHEDS}?range=1h")
        page.get_by_label("Part of the source").fill("loop")
        page.get_by_role("button", name="Filter").click()
        page.locator(".entries tbody a").first.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Why this call was shed")
        assert "UTC" in page.locator(".terms").first.inner_text()
