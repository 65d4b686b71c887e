"""The storm page: what it answers, and how it behaves in a real browser."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from budget.models import Pool
from budget.policy.groups import EDITORS, VIEWERS
from claims_demo.models.storm import StormControl, StormSecond
from claims_demo.storm.live import MOST_POINTS
from claims_demo.storm.tally import Tally
from tests.browsing import browsing
from tests.claims_demo.background import in_background
from tests.claims_demo.world import MARKUP
from tests.policies import claims_pool


def rage(count: int, until: datetime | None = None, strength: int = 10) -> datetime:
    """Stores so many seconds of a storm; returns the last."""
    last = (until or timezone.now()).replace(microsecond=0)
    tallies = {
        "adjuster": Tally(asked=2, in_time=2, late=1),
        "rescore": Tally(offered=15, admitted=5, shed={"queue_full": 5}),
        "nightly": Tally(offered=10, shed={"headroom": 9}, expired=1),
    }
    StormSecond.objects.bulk_create(
        StormSecond(
            at=last - timedelta(seconds=ago),
            strength=strength,
            waits_ms=[400, 700],
            counts=msgspec.to_builtins(tallies),
        )
        for ago in range(count)
    )
    return last


def live(client: Client, **query: Any) -> dict[str, Any]:
    return dict(client.get("/storm/live", query).json())


@pytest.fixture
def adjuster(db: None) -> Client:
    """Somebody with no rights but to log in, and an unusual name."""
    claims_pool()
    client = Client()
    client.force_login(User.objects.create_user(MARKUP))
    return client


def test_whoever_may_is_led_to_who_was_shed(adjuster: Client) -> None:
    assert "/dashboard/" not in adjuster.get("/storm/").content.decode()
    User.objects.get().groups.add(Group.objects.get(name=VIEWERS))
    page = adjuster.get("/storm/").content.decode()
    for address in ("/dashboard/claims/sheds/", "/dashboard/claims/"):
        assert f'href="{address}"' in page
        assert adjuster.get(address).status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["/storm/", "/storm/live"])
def test_it_is_for_those_who_logged_in(page: str) -> None:
    assert Client().get(page).headers["Location"] == f"/login/?next={page}"


def test_without_a_storm_it_says_how_to_start_one(adjuster: Client) -> None:
    page = adjuster.get("/storm/").content.decode()
    assert "No storm is running." in page
    assert re.search(r'<p id="storm-start">\s+<code>make demo</code> starts one', page)
    assert re.search(r'<form id="storm-control".* hidden>', page)
    assert re.search(r'<p id="storm-try" hidden>', page)
    found = live(adjuster)
    assert (found["points"], found["running"], found["more"]) == ([], False, False)


def test_a_point_sums_up_ten_seconds(adjuster: Client) -> None:
    last = rage(30)
    found = live(adjuster)
    assert found["running"]
    assert len(found["points"]) == 30
    assert found["points"][-1] == [int(last.timestamp()), 10, 400, 700, 1.0, 5.0, 10.0]
    assert found["figures"]["adjuster-p95"] == "0.7 s"
    assert found["figures"]["rescore-shed"] == "33 %"
    assert found["figures"]["nightly-state"] == "green"


def test_a_poll_brings_what_is_new_and_little_at_a_time(adjuster: Client) -> None:
    last = rage(290)
    after, polls = int((last - timedelta(minutes=5)).timestamp()), []
    while True:
        answer = adjuster.get("/storm/live", {"after": after})
        assert len(answer.content) <= 5_000
        polls.append(answer.json())
        if not polls[-1]["more"]:
            break
        after = polls[-1]["points"][-1][0]
    moments = [point[0] for poll in polls for point in poll["points"]]
    assert moments == list(range(moments[0], int(last.timestamp()) + 1))
    assert [len(poll["points"]) for poll in polls[:-1]] == [MOST_POINTS] * (len(polls) - 1)
    assert live(adjuster, after=int(last.timestamp()))["points"] == []


def test_a_storm_that_ended_is_over_and_so_are_its_figures(adjuster: Client) -> None:
    rage(5, until=timezone.now() - timedelta(seconds=30))
    found = live(adjuster)
    assert found["words"] == "No storm is running."
    assert found["figures"]["adjuster-p95"] == "–"
    assert found["figures"]["rescore-shed"] == "–"
    assert found["figures"]["rescore-depth"] == "0", "queues there are without a storm"


def test_starving_adjusters_show(adjuster: Client) -> None:
    last = rage(30)
    second = StormSecond.objects.get(at=last)
    second.counts["adjuster"] = msgspec.to_builtins(
        Tally(late=8, gave_up=4, failed=3, unasked=6, offered=4, shed={"pool_exhausted": 3})
    )
    second.late_ms = [40_000] * 20
    second.save()
    found = live(adjuster)
    assert found["points"][-1][2:5] == [700, 40_000, 2.3]
    figures = found["figures"]
    assert figures["adjuster-p95"] == "40.0 s"
    assert figures["adjuster-in-time"] == "57 %"
    assert figures["adjuster-shed"] == "75 %"
    assert figures["adjuster-unanswered"] == "13"
    assert "4 gave up, 3 met an error, 6 found everybody waiting already" in found["words"]


def test_who_may_edit_is_led_to_where_the_floor_is_taken_away(adjuster: Client) -> None:
    rage(5)
    form = f"/admin/budget/pool/{Pool.objects.get().pk}/change/"
    assert form not in adjuster.get("/storm/").content.decode()
    user = User.objects.get()
    user.groups.add(Group.objects.get(name=EDITORS))
    user.is_staff = True
    user.save()
    assert f'href="{form}"' in adjuster.get("/storm/").content.decode()
    assert adjuster.get(form).status_code == 200


def test_a_pool_that_an_edit_took_away_leaves_no_figures(adjuster: Client) -> None:
    rage(5)
    claims_pool().delete()
    assert live(adjuster)["figures"]["rescore-depth"] == "–"


@pytest.mark.parametrize("after", ["", "-1", "soon", "1e3", "9" * 5000, "٣"])
def test_a_moment_that_is_none_is_refused_by_name(adjuster: Client, after: str) -> None:
    answer = adjuster.get("/storm/live", {"after": after})
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("after: ")


def test_anybody_may_choose_a_strength_and_leave_it_to_the_weather_again(adjuster: Client) -> None:
    answer = adjuster.post("/storm/strength", {"strength": "4"})
    assert answer.headers["Location"] == "/storm/"
    assert StormControl.objects.get().strength == 4
    rage(5)
    assert live(adjuster)["control"] == f"×4, chosen by {MARKUP}."
    assert MARKUP not in adjuster.get("/storm/").content.decode()
    adjuster.post("/storm/strength", {"strength": "automatic"})
    assert StormControl.objects.get().strength is None
    assert live(adjuster)["control"].startswith("Automatic")


@pytest.mark.parametrize("strength", ["", "0", "5", "ten", "\0"])
def test_a_strength_that_is_none_is_refused_by_name(adjuster: Client, strength: str) -> None:
    answer = adjuster.post("/storm/strength", {"strength": strength})
    assert answer.status_code == 400
    assert "strength: choose automatic or one of 1, 4, 10." in answer.json()["detail"]
    assert not StormControl.objects.exists()


def test_a_strength_is_chosen_by_post_with_the_forms_token(adjuster: Client) -> None:
    assert adjuster.get("/storm/strength").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get())
    assert strict.post("/storm/strength", {"strength": "4"}).status_code == 403


@pytest.fixture
def complaints() -> list[str]:
    """What the browser had to say."""
    return []


@pytest.fixture
def page(committed: None, live_server: LiveServer, complaints: list[str]) -> Iterator[Page]:
    """The page of somebody with an unusual name, who chose ×4, in a storm with a gap."""
    claims_pool()
    User.objects.create_user(MARKUP, password="secret")
    StormControl.objects.create(strength=4, chosen_by=MARKUP)
    rage(60)
    rage(150, until=timezone.now() - timedelta(seconds=90), strength=1)
    with browsing(viewport={"width": 1280, "height": 900}) as context:
        opened = context.new_page()
        opened.on("console", lambda message: complaints.append(message.text))
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.goto(f"{live_server.url}/login/?next=/storm/")
        opened.fill("#id_username", MARKUP)
        opened.fill("#id_password", "secret")
        opened.keyboard.press("Enter")
        opened.wait_for_selector("#storm")
        yield opened


def go_on() -> None:
    """Has the storm go on for a minute: without one there are no buttons."""
    in_background(lambda: rage(1, until=timezone.now() + timedelta(minutes=1)))


def found_by_axe(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {[node['html'] for node in each['nodes']]}" for each in found]


@pytest.mark.browser
def test_new_points_arrive_without_a_reload(page: Page, complaints: list[str]) -> None:
    page.click("text=The last minute as a table")
    newest = page.locator("#storm-table th").first
    before = newest.inner_text()
    in_background(lambda: rage(1, until=timezone.now() + timedelta(seconds=1), strength=4))
    expect(newest).not_to_have_text(before)
    expect(page.locator("#storm-words")).to_contain_text("4 times their usual pace")
    assert page.locator("#storm-latency canvas").count() == 1
    assert page.locator("#storm-shed .u-legend").inner_text().count("nightly") == 1
    assert complaints == []


@pytest.mark.browser
def test_a_name_is_text_wherever_it_stands(page: Page, complaints: list[str]) -> None:
    expect(page.locator("#storm-now")).to_have_text(f"×4, chosen by {MARKUP}.")
    assert page.locator("img").count() == 0
    assert page.title().startswith("Storm")
    assert complaints == []


@pytest.mark.browser
def test_the_strength_is_chosen_by_keyboard(page: Page, complaints: list[str]) -> None:
    go_on()
    expect(page.locator("#storm-control")).to_be_visible()
    chosen = page.locator("button[aria-pressed=true]")
    expect(chosen).to_have_text("×4")
    chosen.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(chosen).to_have_text("×10")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    expect(chosen).to_have_text("Automatic")
    assert complaints == []


@pytest.mark.browser
def test_after_logging_in_again_elsewhere_the_buttons_still_work(
    page: Page, complaints: list[str]
) -> None:
    go_on()
    other = page.context.new_page()
    other.goto(page.url)
    other.click("text=Log out")
    other.goto(page.url)
    other.fill("#id_username", MARKUP)
    other.fill("#id_password", "secret")
    other.keyboard.press("Enter")
    other.wait_for_selector("#storm")
    page.click("button:text-is('×10')")
    expect(page.locator("button[aria-pressed=true]")).to_have_text("×10")
    assert complaints == []


@pytest.mark.browser
def test_the_control_goes_with_the_storm_and_comes_with_it(page: Page) -> None:
    go_on()
    control = page.locator("#storm-control")
    expect(control).to_be_visible()
    in_background(StormSecond.objects.all().delete)
    expect(control).to_be_hidden()
    expect(page.locator("#storm-start")).to_be_visible()
    in_background(lambda: rage(2))
    expect(control).to_be_visible()


@pytest.mark.browser
def test_the_last_moment_on_the_axis_is_written_whole(page: Page) -> None:
    page.wait_for_selector("#storm-latency canvas")
    right = page.evaluate(
        """() => {
            const chart = document.querySelector("#storm-latency .u-wrap").getBoundingClientRect();
            const drawn = document.querySelector("#storm-latency .u-over").getBoundingClientRect();
            return chart.right - drawn.right;
        }"""
    )
    assert right >= 25


@pytest.mark.browser
def test_it_says_so_when_the_service_is_away_and_goes_on_when_it_is_back(page: Page) -> None:
    trouble = page.locator("#storm-trouble")
    page.route("**/storm/live*", lambda route: route.abort())
    expect(trouble).to_have_text("The service can't be reached. Trying again …")
    page.unroute("**/storm/live*")
    expect(trouble).to_be_hidden()


@pytest.mark.browser
def test_who_is_logged_out_meanwhile_is_told(page: Page) -> None:
    page.context.clear_cookies()
    expect(page.locator("#storm-trouble")).to_have_text(
        "You are logged out. Reload the page to log in."
    )


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_has_it_all_in_its_width(page: Page, scheme: Any, complaints: list[str]) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 375, "height": 720})
    expect(page.locator("#storm-latency canvas")).to_be_visible()
    expect(page.locator("#storm-latency .uplot")).to_have_css("width", re.compile("^3[0-4]"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    page.click("text=The last minute as a table")
    expect(page.locator("#storm-table tr").first).to_be_visible()
    assert found_by_axe(page) == []
    assert complaints == []


@pytest.mark.browser
def test_nothing_is_fetched_from_elsewhere(page: Page, live_server: LiveServer) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    page.wait_for_selector("#storm-shed canvas")
    assert asked
    assert all(url.startswith(live_server.url) for url in asked)
