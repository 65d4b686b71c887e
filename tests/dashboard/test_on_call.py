"""Somebody on call, in a real browser: from a spike to its cause, to the pause, and back."""

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import Locator, Page
from pytest_django.live_server_helper import LiveServer

from budget import services
from budget.models import ApiKey
from budget.policy.groups import ON_CALL
from budget.services import AdmissionRequest
from tests.browsing import browsing
from tests.dashboard.conftest import client_of, somebody
from tests.jobs.queueing import enqueue
from tests.policies import claims_pool

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed")]

CALL = {"pool": "claims", "workload_class": "nightly", "input_tokens": 9, "output_tokens": 9}
LOOP = "classifier/loop.py:88"
MOST_TABS = 60
HIDDEN = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


class AtNight:
    """A browser of somebody on call, and a service that makes calls meanwhile."""

    def __init__(self, page: Page, url: str, key: str) -> None:
        self.page, self.url, self.key = page, url, key

    def tab_to(self, wanted: Locator) -> None:
        """Tab on until it has the focus."""
        for _ in range(MOST_TABS):
            self.page.keyboard.press("Tab")
            if wanted.evaluate_all("found => found.includes(document.activeElement)"):
                return
        raise AssertionError(f"{wanted} isn't reached by the keyboard")

    def press(self, role: Literal["link", "button"], name: str) -> None:
        """Go to it, and where it leads."""
        self.tab_to(self.page.get_by_role(role, name=name, exact=True))
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")

    def turn(self, verb: str, reason: str) -> None:
        """From the page of the class, and back to it."""
        self.press("link", f"{verb}… nightly")
        self.tab_to(self.page.get_by_label("Reason for the change"))
        self.page.keyboard.type(reason)
        self.press("button", f"{verb} nightly")

    def admit(self) -> str:
        """The decision on a call of the class, or why it is shed."""
        answer = self.page.request.post(
            f"{self.url}{reverse('budget:admissions')}",
            data=CALL,
            headers={"Authorization": f"Api-Key {self.key}"},
        ).json()
        return answer.get("reason") or answer["decision"]


@pytest.fixture
def complaints() -> list[str]:
    """What the browser had to say."""
    return []


@pytest.fixture
def at_night(committed: None, live_server: LiveServer, complaints: list[str]) -> Iterator[AtNight]:
    """On the claims pool, into which somebody's nightly loop has run."""
    claims_pool()
    enqueue("nightly")
    loop = AdmissionRequest(
        pool="claims",
        workload_class="nightly",
        input_tokens=19_000,
        output_tokens=1_000,
        source=LOOP,
    )
    services.admit_many([loop] * 12)
    key = ApiKey.objects.create_key(name="classifier")[1]
    session = client_of(somebody("olga", ON_CALL)).cookies["sessionid"].value
    with browsing(viewport={"width": 1280, "height": 800}) as context:
        page = context.new_page()
        cookie = {"name": "sessionid", "value": session, "url": live_server.url}
        context.add_cookies([cookie])  # type: ignore[list-item]
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
        yield AtNight(page, live_server.url, key)


def test_a_class_is_paused_and_resumed_with_the_keyboard_alone(
    at_night: AtNight, complaints: list[str]
) -> None:
    page = at_night.page
    page.goto(at_night.url + reverse("budget:dashboard"))
    at_night.press("link", "claims")
    at_night.press("link", "nightly")
    assert at_night.admit() == "admitted"

    at_night.turn("Pause", "runaway loop")
    assert "Paused: nightly" in page.locator(".note.success").inner_text()
    assert "olga: “runaway loop”" in page.locator("#content").inner_text()
    assert at_night.admit() == "paused"

    at_night.turn("Resume", "loop fixed")
    assert "Resumed: nightly" in page.locator(".note.success").inner_text()
    assert page.locator(".note.warning").count() == 0
    assert at_night.admit() == "admitted"
    assert complaints == []


def test_from_a_spike_to_its_cause_and_to_the_pause(
    at_night: AtNight, complaints: list[str]
) -> None:
    page = at_night.page
    page.goto(at_night.url + reverse("budget:dashboard"))
    assert "were shed in the last hour" in page.locator("#pools").inner_text()
    page.click("text=See them")
    assert "Who was shed" in page.locator("#groups").inner_text()
    page.get_by_role("link", name=LOOP, exact=True).first.click()
    page.get_by_role("link", name=re.compile("explained")).first.click()
    told = page.locator("#content").inner_text()
    assert "Why this call was shed" in told
    assert "floors keep" in told

    page.get_by_role("link", name="claims", exact=True).click()
    page.get_by_role("link", name="nightly", exact=True).click()
    page.get_by_role("link", name="Pause… nightly").click()
    page.fill("#id_reason", "loop in the classifier")
    page.click("text=Pause nightly")
    page.wait_for_selector(".note.success")
    assert at_night.admit() == "paused"
    assert complaints == []


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_on_a_page_that_switches(
    at_night: AtNight, colours: Literal["light", "dark"]
) -> None:
    page = at_night.page
    page.emulate_media(color_scheme=colours)
    page.goto(at_night.url + reverse("budget:switch_class", args=["nightly", "pause"]))
    assert Axe().run(page).response["violations"] == []
    page.fill("#id_reason", " ")
    page.click("text=Pause nightly")
    page.wait_for_selector(".errorlist")
    assert Axe().run(page).response["violations"] == []
    page.fill("#id_reason", "loop")
    page.click("text=Pause nightly")
    page.wait_for_selector(".note.success")
    page.goto(at_night.url + reverse("budget:switch_class", args=["nightly", "resume"]))
    assert Axe().run(page).response["violations"] == []


def test_a_phone_shows_all_of_a_page_that_switches(at_night: AtNight) -> None:
    page = at_night.page
    page.set_viewport_size({"width": 375, "height": 720})
    page.goto(at_night.url + reverse("budget:switch_pool", args=["claims", "pause"]))
    assert page.evaluate(HIDDEN) == 0
