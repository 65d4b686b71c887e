"""The assistant's page in a real browser, through a shed and back, by keyboard alone.

While Playwright runs, its event loop keeps Django's database out of this thread: what is
to be done there is done in another.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from django.db import connections
from playwright.sync_api import Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from budget.models import WorkloadClass
from claims_demo.models import Claim, Question
from tests.claims_demo.world import MARKUP, MESSAGES, make_claim, message, slow_down, use_up
from tests.jobs.provider import Provider

pytestmark = pytest.mark.browser

SUGGESTED = "What should I tell the claimant now?"
HIDDEN = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def complaints() -> list[str]:
    """What the browser had to say, and what it fetched elsewhere."""
    return []


@pytest.fixture
def page(claim: Claim, live_server: LiveServer, complaints: list[str]) -> Iterator[Page]:
    """The claim's page, with an adjuster logged in."""
    User.objects.create_user("ada", password="secret")
    address = live_server.url + claim.get_absolute_url()
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: _note_strangers(request.url, live_server, complaints))
        page.goto(address)
        page.fill("#id_username", "ada")
        page.fill("#id_password", "secret")
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-assistant]")
        yield page
        browser.close()


def _note_strangers(url: str, live_server: LiveServer, complaints: list[str]) -> None:
    if not url.startswith(live_server.url):
        complaints.append(f"fetched {url}")


def in_database(step: Callable[..., Any], *args: Any) -> Any:
    """What a step returns that needs the database."""

    def run() -> Any:
        try:
            return step(*args)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result()


def status(page: Page) -> Any:
    return expect(page.locator("[data-status]"))


def type_question(page: Page, text: str) -> None:
    page.locator("#question").focus()
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def test_a_question_is_answered_without_leaving_the_page(
    page: Page, platform: Provider, complaints: list[str]
) -> None:
    platform.fail(MESSAGES, 200, message(MARKUP))
    type_question(page, "What is <b>missing</b>?")
    status(page).to_have_text(re.compile(r"Answered in \d\.\d s\."))
    entry = page.locator("[data-conversation] [data-entry]").first
    expect(entry.locator("[data-question]")).to_have_text("What is <b>missing</b>?")
    expect(entry.locator("[data-answer]")).to_have_text(MARKUP)
    expect(entry.locator("[data-note]")).to_contain_text("900 tokens read, 40 written")
    expect(page.locator("#question")).to_have_value("")
    expect(page.locator("#question")).to_be_focused()
    page.reload()
    expect(page.locator("[data-answer]").first).to_have_text(MARKUP)
    assert complaints == []


def test_a_shed_question_counts_down_and_comes_back_by_itself(
    page: Page, platform: Provider, complaints: list[str]
) -> None:
    in_database(slow_down, 40_000)
    in_database(use_up)
    type_question(page, "Are you there?")
    status(page).to_contain_text("Try again shortly")
    expect(page.locator("[data-countdown]")).to_have_text(re.compile(r"Asked again in \d s"))
    box = page.locator("#question")
    expect(box).to_have_value("Are you there?")
    expect(box).not_to_be_editable()
    status(page).to_contain_text("Answered", timeout=20_000)
    expect(page.locator("[data-question]").first).to_have_text("Are you there?")
    expect(page.locator("[data-countdown]")).to_be_hidden()
    expect(page.locator("[data-stop]")).to_be_hidden()
    assert in_database(Question.objects.count) == 1
    assert platform.calls == [MESSAGES], "asked of the provider once it was admitted"
    assert [text for text in complaints if "429" not in text] == []


def test_whoever_does_not_want_to_wait_stops_it_and_keeps_the_question(page: Page) -> None:
    in_database(slow_down, 8_000)
    in_database(use_up)
    type_question(page, "Are you there?")
    status(page).to_contain_text("Try again shortly")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.locator("[data-stop]")).to_be_focused()
    page.keyboard.press("Enter")
    status(page).to_contain_text("Stopped")
    box = page.locator("#question")
    expect(box).to_be_focused()
    expect(box).to_be_editable()
    expect(box).to_have_value("Are you there?")
    expect(page.locator("[data-countdown]")).to_be_hidden()


def test_a_suggestion_is_asked_by_keyboard(page: Page, platform: Provider) -> None:
    platform.fail(MESSAGES, 200, message("That we call tomorrow."))
    page.get_by_role("button", name=SUGGESTED).focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-question]").first).to_have_text(SUGGESTED)
    expect(page.locator("[data-answer]").first).to_have_text("That we call tomorrow.")


def test_too_slow_is_said_and_can_be_tried_again(page: Page, platform: Provider) -> None:
    platform.silent = True
    type_question(page, "Are you there?")
    status(page).to_contain_text("took longer than two seconds")
    expect(page.locator("#question")).to_have_value("Are you there?")
    platform.silent = False
    platform.gone.clear()
    page.get_by_role("button", name="Try again").click()
    status(page).to_contain_text("Answered")


def test_a_provider_in_trouble_is_said_without_its_words(page: Page, platform: Provider) -> None:
    platform.fail(MESSAGES, 500, {"error": {"message": "disk full", "type": "x"}})
    type_question(page, "Are you there?")
    status(page).to_contain_text("can't be reached just now")
    assert "disk full" not in page.content()


def test_a_paused_class_is_not_asked_again_and_again(page: Page) -> None:
    in_database(lambda: WorkloadClass.objects.filter(slug="adjuster").update(paused=True))
    type_question(page, "Are you there?")
    status(page).to_contain_text("The assistant is paused")
    expect(page.locator("[data-countdown]")).to_be_hidden()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


def test_whoever_is_logged_out_meanwhile_keeps_the_question(page: Page) -> None:
    page.context.clear_cookies()
    type_question(page, "Are you there?")
    status(page).to_contain_text("not logged in any more")
    expect(page.locator("#question")).to_have_value("Are you there?")


def test_a_service_that_is_away_is_said(page: Page) -> None:
    page.context.set_offline(True)
    type_question(page, "Are you there?")
    status(page).to_contain_text("can't be reached")
    expect(page.locator("#question")).to_have_value("Are you there?")


def test_an_empty_question_is_not_sent(page: Page, platform: Provider) -> None:
    page.locator("#question").focus()
    page.keyboard.press("Enter")
    status(page).to_have_text("")
    assert platform.calls == []


@pytest.mark.parametrize("width", [320, 375, 768, 1280])
def test_nothing_is_cut_off_at_any_width(
    page: Page, live_server: LiveServer, width: int, complaints: list[str]
) -> None:
    in_database(lambda: make_claim(claimant="W" * 100, insured="x" * 100, place="M" * 100))
    page.set_viewport_size({"width": width, "height": 720})
    assert page.evaluate(HIDDEN) == 0
    page.goto(live_server.url)
    assert page.evaluate(HIDDEN) == 0
    page.locator("tbody a").first.click()
    page.wait_for_selector("[data-assistant]")
    assert page.evaluate(HIDDEN) == 0
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Page, live_server: LiveServer, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    in_database(slow_down, 40_000)
    in_database(use_up)
    type_question(page, "Are you there?")
    status(page).to_contain_text("Try again shortly")
    accessible(page)
    status(page).to_contain_text("Answered", timeout=20_000)
    accessible(page)
    page.goto(f"{live_server.url}/?status=lost")
    accessible(page)
    page.get_by_role("button", name="Log out").click()
    page.wait_for_selector("#id_password")
    accessible(page)


def accessible(page: Page) -> None:
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_without_scripts_the_form_does_it(
    page: Page, platform: Provider, live_server: LiveServer
) -> None:
    platform.fail(MESSAGES, 200, message("By post."))
    state = page.context.storage_state()
    plain = page.context.browser.new_context(java_script_enabled=False, storage_state=state)  # type: ignore[union-attr]
    tab = plain.new_page()
    tab.goto(page.url)
    tab.fill("#question", "How?")
    tab.get_by_role("button", name="Ask", exact=True).click()
    expect(tab.locator("[data-answer]").first).to_have_text("By post.")
    in_database(slow_down, 40_000)
    in_database(use_up)
    tab.fill("#question", "Still there?")
    tab.get_by_role("button", name="Ask", exact=True).click()
    expect(tab.get_by_role("alert")).to_contain_text("Try again shortly")
    expect(tab.locator("#question")).to_have_value("Still there?")
    plain.close()
