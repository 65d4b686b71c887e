"""The assistant's page in a real browser, through a shed and back, by keyboard alone."""

import re
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from django.db import connections
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from budget.models import WorkloadClass
from claims_demo.models import Claim, Question
from tests.browsing import browsing
from tests.claims_demo.world import MARKUP, MESSAGES, make_claim, message, slow_down, use_up
from tests.jobs.provider import Provider

pytestmark = pytest.mark.browser

SUGGESTED = "What should I tell the claimant now?"
HIDDEN = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

NOTE_COUNTDOWN = """() => {
  const countdown = document.querySelector("[data-countdown]");
  window.noted = [];
  new MutationObserver(() => noted.push(countdown.textContent))
    .observe(countdown, { childList: true, characterData: true, subtree: true });
}"""


@pytest.fixture
def complaints() -> list[str]:
    """What the browser had to say, and what it fetched elsewhere."""
    return []


@pytest.fixture
def site(claim: Claim, live_server: LiveServer) -> str:
    """Where the claims are."""
    User.objects.create_user("ada", password="secret")
    return live_server.url


@pytest.fixture
def page(
    site: str, claim: Claim, complaints: list[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Page]:
    """The claim's page, with an adjuster in New York logged in.

    The database may be used beside it, since nothing but Playwright itself runs on its event
    loop; but Django keeps connections of their own where a loop runs.
    """
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    new_york = {"viewport": {"width": 1280, "height": 800}, "timezone_id": "America/New_York"}
    with browsing(**new_york) as context:
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: _note_strangers(request.url, site, complaints))
        page.goto(site + claim.get_absolute_url())
        page.fill("#id_username", "ada")
        page.fill("#id_password", "secret")
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-assistant]")
        page.wait_for_load_state("load")  # its scripts run
        yield page
        connections.close_all()


def _note_strangers(url: str, site: str, complaints: list[str]) -> None:
    if not url.startswith(site):
        complaints.append(f"fetched {url}")


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
    slow_down(40_000)
    use_up()
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
    assert Question.objects.count() == 1
    assert platform.calls == [MESSAGES], "asked of the provider once it was admitted"
    assert [text for text in complaints if "429" not in text] == []


def test_the_countdown_is_what_the_answer_named(page: Page) -> None:
    slow_down(40_000)
    use_up()
    page.evaluate(NOTE_COUNTDOWN)
    with page.expect_response("**/ask") as answer:
        type_question(page, "Are you there?")
    named = answer.value.headers["retry-after"]
    expect(page.locator("[data-countdown]")).to_be_visible()
    assert page.evaluate("noted")[0] == f"Asked again in {named} s"


def test_without_a_named_moment_no_number_is_made_up(page: Page, platform: Provider) -> None:
    slow_down(8_000)
    use_up()
    page.clock.install()
    with page.expect_response("**/ask") as answer:
        type_question(page, "Are you there?")
    assert "retry-after" not in answer.value.headers
    status(page).to_contain_text("there is no room in the next few seconds")
    status(page).to_contain_text("asked again by itself")
    expect(page.locator("[data-countdown]")).to_be_hidden()
    expect(page.locator("[data-countdown]")).to_be_empty()
    slow_down(400_000)
    with page.expect_request("**/ask"):
        page.clock.fast_forward(10_000)
    status(page).to_contain_text("Answered")


def test_a_busy_provider_is_asked_again_when_it_said(
    page: Page, platform: Provider, complaints: list[str]
) -> None:
    platform.fail(MESSAGES, 529, headers={"retry-after": "30"})
    page.clock.install()
    type_question(page, "Are you there?")
    status(page).to_contain_text("the provider is busy")
    expect(page.locator("[data-countdown]")).to_have_text("Asked again in 30 s")
    page.clock.fast_forward(30_000)
    status(page).to_contain_text("Answered")
    assert platform.calls == [MESSAGES] * 2


def test_whoever_would_wait_too_long_for_a_busy_provider_is_told_now(
    page: Page, platform: Provider
) -> None:
    platform.fail(MESSAGES, 529, headers={"retry-after": "3600"})
    type_question(page, "Are you there?")
    status(page).to_have_text("Try again later: the provider is busy. Your question is still here.")
    expect(page.locator("[data-stop]")).to_be_hidden()


def test_times_are_those_of_the_reader_and_say_so(page: Page, site: str, claim: Claim) -> None:
    at = claim.opened_at.astimezone(ZoneInfo("America/New_York"))
    opened = page.locator(".facts time")
    expect(opened).to_have_text(f"{at.day} {at:%b}, {at:%H:%M}")
    expect(opened).to_have_attribute("title", f"{claim.opened_at:%Y-%m-%d %H:%M:%S} UTC")
    expect(page.locator("[data-zone]")).to_contain_text("America/New_York")
    page.goto(site)
    expect(page.locator("tbody time")).to_have_text(f"{at.day} {at:%b}, {at:%H:%M}")
    expect(page.locator("[data-zone]")).to_contain_text("America/New_York")


def test_whoever_does_not_want_to_wait_stops_it_and_keeps_the_question(page: Page) -> None:
    slow_down(8_000)
    use_up()
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
    WorkloadClass.objects.filter(slug="adjuster").update(paused=True)
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
    make_claim(claimant="W" * 100, insured="x" * 100, place="M" * 100)
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
    slow_down(40_000)
    use_up()
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
    slow_down(40_000)
    use_up()
    tab.fill("#question", "Still there?")
    tab.get_by_role("button", name="Ask", exact=True).click()
    expect(tab.get_by_role("alert")).to_contain_text("Try again shortly")
    expect(tab.locator("#question")).to_have_value("Still there?")
    plain.close()
