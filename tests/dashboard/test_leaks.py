"""Leaks, backoff and a spend cap on the dashboard."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from budget import services
from budget.ledger.ids import new_id
from budget.models import ApiKey, Observation, Pool
from budget.providers.standing import ProviderLimit, Standing
from tests.dashboard.addresses import pool_page
from tests.dashboard.test_pool import opened
from tests.dashboard.watching import OVERFLOW, Watcher, aside

pytestmark = pytest.mark.django_db

OVERVIEW = "/dashboard/"
DRAINED = Standing((ProviderLimit("total_tokens", 400_000, 0),))


def leak(pool: Pool, minutes_ago: float, tokens: int) -> None:
    at = datetime.now(UTC) - timedelta(minutes=minutes_ago)
    Observation.objects.create(
        id=new_id(pool.pk),
        pool_id=pool.pk,
        at=at,
        said_at=at,
        seq=1,
        position=1,
        key_prefix="abcd1234",
        readings=[],
        tolerance=0.1,
        leaked={"total_tokens": tokens} if tokens else {},
        backoff={},
    )


def test_leaks_have_their_place_only_where_there_are_any(viewer: Client, claims: Pool) -> None:
    assert "Leaks in this time" not in opened(viewer, pool_page()).html
    leak(claims, 90, 7000)
    leak(claims, 1, 0)
    assert "Leaks in this time" not in opened(viewer, pool_page(query="range=1h")).html
    leak(claims, 5, 40_000)
    html = opened(viewer, pool_page(query="range=1h")).html
    assert "40,000 tokens were used at the provider and never came through here." in html
    html = opened(viewer, pool_page(query="range=24h")).html
    assert "47,000 tokens were used at the provider and never came through here" in html
    assert "found 2 times" in html
    assert html.index("40,000 tokens</strong>") < html.index("7,000 tokens</strong>")
    assert "told by the API key abcd1234" in html
    assert html.index("Leaks in this time") < html.index("Policy changes in this time")


def test_moments_of_leaks_are_exact(viewer: Client, claims: Pool) -> None:
    leak(claims, 5, 40_000)
    for span, form in (("1h", "second"), ("7d", "full")):
        panel = opened(viewer, pool_page(query=f"range={span}")).html.partition('id="leaks"')[2]
        assert f'data-format="{form}"' in panel.partition("</section>")[0]


def test_the_key_that_told_a_leak_goes_by_its_name(viewer: Client, claims: Pool) -> None:
    key, _ = ApiKey.objects.create_key(name="scratch")
    leak(claims, 5, 40_000)
    Observation.objects.update(key_prefix=key.prefix)
    assert "told by the API key scratch" in opened(viewer, pool_page()).html


def test_the_overview_names_the_leaks_of_the_last_hour(viewer: Client, claims: Pool) -> None:
    assert "Leaks" not in opened(viewer, OVERVIEW).html
    leak(claims, 90, 7000)
    leak(claims, 5, 40_000)
    told = opened(viewer, OVERVIEW)["pools"][0].told[-1]
    assert told.text == "Leaks: 40,000 tokens in the last hour."
    assert 'id="leaks"' in opened(viewer, told.address.partition("#")[0]).html


def test_many_leaks_are_added_up_and_the_newest_shown(viewer: Client, claims: Pool) -> None:
    for n in range(51):
        leak(claims, n / 10, 1000)
    html = opened(viewer, pool_page(query="range=1h")).html
    assert "51,000 tokens were used" in html
    assert "Only the newest 50 are shown." in html


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("committed")
def test_who_leaves_a_busy_provider_alone_is_shown(viewer: Client, claims: Pool) -> None:
    services.observe("claims", Standing(refusal="busy", retry_after_seconds=60.0))
    board = opened(viewer, pool_page())["board"]
    states = {row.member.name: row.states for row in board.rows}
    assert states["nightly"] == ["provider backoff", "green"]
    assert "provider backoff" not in states["rescore"]
    assert "provider backoff" in opened(viewer, OVERVIEW).html


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("committed")
def test_a_pool_that_a_spend_cap_stopped_says_so(viewer: Client, claims: Pool) -> None:
    services.observe("claims", Standing(refusal="money"))
    page = opened(viewer, pool_page())
    assert page["board"].states == ["paused", "spend cap reached", "enforce"]
    assert "spend cap is reached." in page.html
    assert "spend cap reached" in opened(viewer, OVERVIEW).html
    Pool.objects.update(paused=False)
    services.observe("claims", Standing())
    assert opened(viewer, pool_page())["board"].states == ["enforce"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("committed")
def test_a_leak_that_the_ledger_found_is_shown(viewer: Client, claims: Pool) -> None:
    assert services.observe("claims", DRAINED).leaked
    assert "400,000 tokens were used" in opened(viewer, pool_page()).html


def test_a_level_says_that_a_leak_lowered_it_until_it_can_have_refilled(
    viewer: Client, claims: Pool
) -> None:
    leak(claims, 0.1, 40_000)
    board = opened(viewer, pool_page())["board"]
    lowered = {level.name: level.lowered_at for level in board.levels if level.lowered_at}
    assert list(lowered) == ["total tokens per minute"]
    assert "Lowered to what the provider had left" in opened(viewer, pool_page()).html
    shape = board.shape
    Observation.objects.update(at=datetime.now(UTC) - timedelta(seconds=20))
    board = opened(viewer, pool_page())["board"]
    assert [level.lowered_at for level in board.levels] == [None] * 3, "it holds 15 s worth"
    assert board.shape != shape


@pytest.mark.browser
def test_a_page_that_stands_open_gets_them(watcher: Watcher) -> None:
    page = watcher.open("/dashboard/claims/?range=live")
    panel = page.get_by_role("region", name="Leaks in this time")
    assert panel.count() == 0
    aside(lambda: services.observe("claims", replace(DRAINED, refusal="busy")))
    panel.wait_for()
    assert "400,000 tokens were used at the provider" in panel.inner_text()
    page.get_by_text("provider backoff").first.wait_for()
    assert watcher.axe() == []
    assert page.evaluate(OVERFLOW) == 0
    assert watcher.complaints == []
