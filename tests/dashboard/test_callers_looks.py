"""The places of untagged callers and of calls while away, as a browser shows them."""

from uuid import uuid4

import pytest
from pytest_django.live_server_helper import LiveServer

from budget import services
from budget.models import Pool
from tests.dashboard.addresses import pool_page
from tests.dashboard.test_away import report
from tests.dashboard.test_untagged import call
from tests.dashboard.watching import OVERFLOW, Watcher, aside, watching

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("committed")]

LONGEST_SOURCE = "x" * 200


@pytest.fixture
def told(committed: None, claims: Pool) -> None:
    call(LONGEST_SOURCE)
    services.hear("claims", uuid4(), away=[report("adjuster", "local"), report(None, "shed")])


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_they_fit_and_axe_core_finds_nothing(
    told: None, live_server: LiveServer, session: str, scheme: str, width: int
) -> None:
    viewport = {"width": width, "height": 844}
    with watching(live_server.url, session, color_scheme=scheme, viewport=viewport) as watcher:
        for address in ("/dashboard/", pool_page()):
            page = watcher.open(address)
            assert page.get_by_role("heading", name="Untagged callers").is_visible()
            assert page.evaluate(OVERFLOW) == 0, address
            assert watcher.axe() == []
        assert page.get_by_role("heading", name="While the service was away").is_visible()
        assert watcher.complaints == []


def test_an_open_page_gets_them_by_itself(committed: None, claims: Pool, watcher: Watcher) -> None:
    page = watcher.open(pool_page(query="range=live"))
    headings = page.get_by_role("heading", name="Untagged callers")
    assert headings.count() == 0
    aside(lambda: call("claims/old.py:3"))
    headings.wait_for()
    page.get_by_role("link", name="claims/old.py:3").wait_for()
    assert watcher.complaints == []
