"""The storm's adjusters, on the platform as it is served."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer

from budget.models import WorkloadClass
from claims_demo.models import Claim, Question
from claims_demo.storm import adjusters as crew
from claims_demo.storm import question as questions
from claims_demo.storm.adjusters import Adjusters, is_paused, retry_after
from claims_demo.storm.question import OpenQuestion
from claims_demo.storm.report import Orders
from claims_demo.storm.service import ADJUSTERS
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


def asked(
    orders: Orders, before: Callable[[], Any] = lambda: None, forget_claims: bool = False
) -> Sheet:
    """What is counted of one question, asked after something else was done."""

    stage = Stage()
    adjusters = Adjusters(stage, orders)

    async def ask() -> None:
        async with adjusters:
            in_background(before)
            if forget_claims:
                adjusters._numbers = []
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
    assert sheet.waits_ms[0] >= 200


def test_who_finds_the_assistant_paused_gives_up(orders: Orders) -> None:
    sheet = asked(orders, lambda: WorkloadClass.objects.update(paused=True))
    assert sheet.tallies["adjuster"] == Tally(asked=1, late=1, gave_up=1)
    assert sheet.waits_ms == [], "that it was short is no merit"


def test_what_is_neither_an_answer_nor_a_refusal_is_told(
    orders: Orders, platform: Provider
) -> None:
    tally = asked(orders, lambda: platform.fail(MESSAGES, 500, times=9)).tallies["adjuster"]
    assert tally == Tally(asked=1, late=1, failed=1, faults={"502 Bad Gateway": 1})


def test_whatever_goes_wrong_with_a_question_is_counted(orders: Orders) -> None:
    sheet = asked(orders, lambda: None, forget_claims=True)
    assert sheet.tallies["adjuster"] == Tally(asked=1, late=1, failed=1, faults={"IndexError": 1})


def test_who_may_not_log_in_is_named(orders: Orders) -> None:
    orders.password = "forgotten"
    with pytest.raises(ValueError, match="ada was not let in"):
        asked(orders)


def test_a_question_is_late_the_moment_its_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(questions, "ANSWER_SECONDS", 0.05)
    stage = Stage()

    async def wait() -> None:
        question = OpenQuestion(stage)
        await asyncio.sleep(0.03)
        assert (stage.tally(ADJUSTERS).late, question.is_late) == (0, False)
        await asyncio.sleep(0.04)
        assert (stage.tally(ADJUSTERS).late, question.is_late) == (1, True)
        question.answered()

    asyncio.run(wait())
    assert stage.sheet.tallies["adjuster"] == Tally(asked=1, late=1)
    assert stage.sheet.waits_ms[0] >= 70


def test_the_end_of_the_storm_makes_no_question_late() -> None:
    stage = Stage()

    async def end() -> None:
        question = OpenQuestion(stage)
        stage.closing.set()
        question.given_up()

    asyncio.run(end())
    assert stage.sheet.tallies["adjuster"] == Tally(asked=1)


def test_questions_are_counted_that_nobody_is_free_to_ask(
    orders: Orders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "CREW", 0)
    stage = Stage()
    stage.strength = 10
    adjusters = Adjusters(stage, orders)

    async def work() -> None:
        async with adjusters:
            working = asyncio.create_task(adjusters.work())
            await asyncio.sleep(1)
            stage.closing.set()
            await working

    asyncio.run(work())
    assert stage.sheet.tallies["adjuster"].unasked >= 1
    assert stage.sheet.tallies["adjuster"].asked == 0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "3"}, 3),
        ({"retry-after-ms": "10", "retry-after": "1"}, 0.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, 5),
        ({}, 5),
    ],
)
def test_a_refusal_says_when_to_come_back_also_if_a_proxy_wrote_it(
    headers: dict[str, str], seconds: float
) -> None:
    busy = httpx2.Response(503, headers=headers, text="<h1>Busy</h1>")
    assert retry_after(busy) == seconds
    assert not is_paused(busy)
    assert not is_paused(httpx2.Response(429, text="[]"))
    assert is_paused(httpx2.Response(429, text='{"reason": "paused"}'))
