"""The storm's adjusters, on the platform as it is served."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer

from budget.models import WorkloadClass
from claims_demo.models import Claim, Question
from claims_demo.storm.adjusters import Adjusters
from claims_demo.storm.report import Orders
from claims_demo.storm.stage import Sheet, Stage
from claims_demo.storm.tally import Tally
from tests.claims_demo.background import in_background
from tests.claims_demo.world import MESSAGES, use_up
from tests.jobs.provider import Provider

PASSWORD = "secret"


@pytest.fixture
def orders(claim: Claim, live_server: LiveServer) -> Orders:
    """For an adjuster who is known."""
    User.objects.create_user("ada", password=PASSWORD)
    return Orders(url=live_server.url, username="ada", password=PASSWORD, first_calm=0)


def asked(orders: Orders, before: Callable[[], Any] = lambda: None) -> Sheet:
    """What is counted of one question, asked after something else was done."""

    stage = Stage()
    adjusters = Adjusters(stage, orders)

    async def ask() -> None:
        async with adjusters:
            in_background(before)
            await adjusters._ask()

    asyncio.run(ask())
    assert adjusters.waiting == 0
    return stage.sheet


def test_an_answer_in_time_is_counted_with_how_long_it_took(orders: Orders) -> None:
    sheet = asked(orders)
    assert sheet.tallies["adjuster"] == Tally(asked=1, in_time=1)
    assert 0 < sheet.waits_ms[0] < 2_000
    assert Question.objects.filter(asked_by="ada").count() == 2, "the first isn't counted"


def test_who_is_refused_comes_back_and_the_wait_counts_from_the_first_asking(
    orders: Orders,
) -> None:
    sheet = asked(orders, use_up)
    assert sheet.tallies["adjuster"] == Tally(asked=1, in_time=1)
    assert sheet.waits_ms[0] >= 500


def test_who_finds_the_assistant_paused_gives_up(orders: Orders) -> None:
    sheet = asked(orders, lambda: WorkloadClass.objects.update(paused=True))
    assert sheet.tallies["adjuster"] == Tally(asked=1, gave_up=1)
    assert sheet.waits_ms == []


def test_what_is_neither_an_answer_nor_a_refusal_is_told(
    orders: Orders, platform: Provider
) -> None:
    tally = asked(orders, lambda: platform.fail(MESSAGES, 500, times=9)).tallies["adjuster"]
    assert (tally.asked, tally.failed) == (1, 1)
    assert "502 Bad Gateway" in next(iter(tally.faults))


def test_who_may_not_log_in_is_named(orders: Orders) -> None:
    orders.password = "forgotten"
    with pytest.raises(ValueError, match="ada was not let in"):
        asked(orders)
