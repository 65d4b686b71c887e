"""The storm's arithmetic, and how one of its calls behaves."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import httpx2
import pytest
import yaml

from claims_demo.storm.call import Line
from claims_demo.storm.report import Tally
from claims_demo.storm.service import SERVICES, Service, Size
from claims_demo.storm.weather import Weather
from tests.claims_demo.answering import Answer, Request, answering

POLICY = yaml.safe_load(
    (Path(__file__).resolve().parents[2] / "claims_demo" / "policy.yaml").read_text()
)
WEATHER = Weather(first_calm=4, storm=30, calm=20)
SERVICE = Service(
    name="rush",
    workload_class="rush",
    deadline_seconds=1.0,
    calm_per_second=1,
    storm_per_second=10,
    burst=5,
    at_once=10,
    input_tokens=(10, 20),
    max_output_tokens=10,
)
SIZE = Size(input_tokens=15, output_tokens=10, used_output_tokens=4)


@pytest.mark.parametrize(
    ("elapsed", "storms", "stormy", "is_storm"),
    [
        (0, 0, 0, False),
        (3.9, 0, 0, False),
        (4, 1, 0, True),
        (33, 1, 29, True),
        (40, 1, 30, False),
        (54, 2, 30, True),
        (60, 2, 36, True),
        (1000, 20, 600, False),
    ],
)
def test_storms_alternate_with_calms(
    elapsed: float, storms: int, stormy: float, is_storm: bool
) -> None:
    assert WEATHER.storms(elapsed) == storms
    assert WEATHER.storm_seconds(elapsed) == pytest.approx(stormy)
    assert WEATHER.is_storm(elapsed) == is_storm


def test_calls_are_due_by_the_weather() -> None:
    assert SERVICE.calls_due(WEATHER, 4 - 0.01) == 3
    assert SERVICE.calls_due(WEATHER, 4) == 4 + 5
    assert SERVICE.calls_due(WEATHER, 6) == 4 + 5 + 20
    assert SERVICE.calls_due(WEATHER, 54) == 4 + 20 + 300 + 2 * 5


def test_the_services_are_those_of_the_policy() -> None:
    deadlines = {
        slug: terms["deadline_seconds"] for slug, terms in POLICY["workload_classes"].items()
    }
    assert {each.workload_class: each.deadline_seconds for each in SERVICES} == deadlines


def test_the_storm_exhausts_the_pool_but_not_the_strictest_floor() -> None:
    pool = POLICY["pools"]["claims"]
    per_second = pool["limits"][0]["amount"] / 60
    floor = pool["reservations"]["adjuster"]["share_percent"] / 100
    asked = {each.workload_class: _tokens_per_second(each) for each in SERVICES}
    assert sum(asked.values()) > 3 * per_second

    stock = floor * per_second * 60 * pool["limits"][0]["burst_percent"] / 100
    assert asked["adjuster"] > floor * per_second
    assert WEATHER.storm * (asked["adjuster"] - floor * per_second) < stock * 1.2


def test_a_model_takes_longer_to_write_more_and_never_beyond_its_allowance() -> None:
    for service in SERVICES:
        for seed in range(50):
            size = service.size(Random(seed))
            assert 0 < size.used_output_tokens <= size.output_tokens
            assert 0 < size.seconds < 6


def test_an_admitted_call_is_settled_with_what_it_used() -> None:
    sent, tally = call(lambda request: admitted(request))
    assert [request.path for request in sent] == [
        "/api/v1/admissions",
        "/api/v1/admissions/one/settle",
    ]
    assert sent[1].body == {
        "outcome": "succeeded",
        "input_tokens": 15,
        "output_tokens": 4,
    }
    assert tally == Tally(calls=1, in_time=1, offered=1, admitted=1, settled_tokens=19)


def test_a_refused_call_comes_back_when_told_to_and_under_the_same_key() -> None:
    answers: Iterator[Callable[[Request], Answer]] = iter(
        [lambda _: shed("headroom", 40), lambda _: shed("pool_exhausted", 30), admitted, admitted]
    )
    sent, tally = call(lambda request: next(answers)(request))
    assert len({request.headers["idempotency-key"] for request in sent[:3]}) == 1
    assert tally == Tally(
        calls=1,
        in_time=1,
        offered=3,
        admitted=1,
        shed={"headroom": 1, "pool_exhausted": 1},
        settled_tokens=19,
    )


@pytest.mark.parametrize("milliseconds", [1500, None], ids=["after its deadline", "never"])
def test_a_call_gives_up_when_no_retry_is_in_time(milliseconds: int | None) -> None:
    _, tally = call(lambda _: shed("headroom", milliseconds))
    assert tally == Tally(calls=1, gave_up=1, offered=1, shed={"headroom": 1})


@pytest.mark.parametrize("status", [403, 404])
def test_an_error_is_told_and_no_decision(status: int) -> None:
    """Such as a class or pool that an edit took away."""
    _, tally = call(lambda _: Answer(status, {"title": "Nothing here"}))
    assert (tally.failed, tally.offered, tally.admitted, tally.shed) == (1, 0, 0, {})
    assert str(status) in next(iter(tally.faults))


def test_a_ledger_that_is_away_is_asked_again() -> None:
    away = Answer(503, {"title": "away"}, {"Retry-After": "0"})
    answers = iter([lambda _: away, admitted, admitted])
    _, tally = call(lambda request: next(answers)(request))
    assert tally == Tally(calls=1, in_time=1, offered=1, admitted=1, settled_tokens=19)


def call(answer: Callable[[Request], Answer]) -> tuple[list[Request], Tally]:
    """Makes one call; returns the requests that were sent, and the tally."""
    tally = Tally()

    async def make(url: str) -> None:
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as client:
            await Line(SERVICE, client, tally, asyncio.Event()).call(SIZE)

    with answering(answer) as (url, sent):
        asyncio.run(make(url))
    return sent, tally


def admitted(request: Request) -> Answer:
    return Answer(200 if request.path.endswith("settle") else 201, {"id": "one"})


def shed(reason: str, milliseconds: int | None) -> Answer:
    headers = {} if milliseconds is None else {"retry-after-ms": str(milliseconds)}
    return Answer(429, {"decision": "shed", "reason": reason}, headers)


def _tokens_per_second(service: Service) -> float:
    return service.storm_per_second * (sum(service.input_tokens) / 2 + service.max_output_tokens)
