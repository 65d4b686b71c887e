"""The ready task: one request to the LLM of a pool."""

import sys
from datetime import UTC, datetime, timedelta
from threading import Thread, Timer
from typing import Any
from uuid import uuid4

import pytest

from budget import services, tasks
from budget.jobs import llm
from budget.jobs.clients import client_of
from budget.models import Pool
from budget.services import Implausible
from budget.tasks import Attempt, GiveUp, TryAgain
from tests.jobs.bulk import ADDRESSES, ask, make_bulk_pool
from tests.jobs.provider import DROP, Provider
from tests.jobs.queueing import enqueue
from tests.ledger.disturbances import eventually
from tests.ledger.pools import make_classes, make_pool

CALL = {"openai": "POST /v1/chat/completions", "anthropic": "POST /v1/messages"}
ARGS: dict[str, Any] = {
    "model": "small",
    "max_tokens": 50,
    "messages": [{"role": "user", "content": "hello"}],
}


def attempt(seconds: float = 60) -> Attempt:
    """A first one, with so much time left."""
    until = datetime.now(UTC) + timedelta(seconds=seconds)
    return Attempt(uuid4(), uuid4(), "claims", "rescore", 1, until, until)


def make_llm_pool(provider: Provider, kind: str) -> Pool:
    """The claims pool, which calls that provider."""
    return make_pool(provider=kind, base_url=provider.url + ADDRESSES[kind])


def test_gives_back_the_answer_and_says_what_it_used(provider: Provider, kind: str) -> None:
    make_llm_pool(provider, kind)
    mine = attempt()
    answer = tasks.find(llm.NAME).run(
        mine, '{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"}]}'
    )
    assert "did x" in answer
    assert mine.usage == (7, 3, 4)


def test_sends_its_key_to_no_other_address(provider: Provider, kind: str) -> None:
    make_llm_pool(provider, kind)
    provider.fail(CALL[kind], 307, headers={"location": f"{provider.url}/elsewhere"})
    with pytest.raises(TryAgain, match="307"):
        llm.request(attempt(), **ARGS)
    assert provider.calls == [CALL[kind]]


def test_sends_its_key_only_to_allowed_hosts(provider: Provider, kind: str, settings: Any) -> None:
    make_llm_pool(provider, kind)
    settings.BUDGET_PROVIDER_HOSTS = ["llm-gateway.internal"]
    with pytest.raises(TryAgain, match="may not be sent to 127"):
        llm.request(attempt(), **ARGS)
    assert provider.calls == []


def test_waits_as_long_as_the_provider_says(provider: Provider, kind: str) -> None:
    make_llm_pool(provider, kind)
    provider.fail(CALL[kind], 429, headers={"retry-after-ms": "1500", "retry-after": "2"})
    provider.fail(CALL[kind], 429, headers={"retry-after": "7"})
    for seconds in (1.5, 7):
        with pytest.raises(TryAgain) as caught:
            llm.request(attempt(), **ARGS)
        assert caught.value.seconds == seconds
    assert provider.calls == [CALL[kind]] * 2, "each was asked only once"


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_comes_back_when_the_provider_is_in_trouble(
    provider: Provider, kind: str, status: int
) -> None:
    make_llm_pool(provider, kind)
    provider.fail(CALL[kind], status)
    mine = attempt()
    with pytest.raises(TryAgain, match=f"{kind} answered {status}: no luck") as caught:
        llm.request(mine, **ARGS)
    assert caught.value.seconds is None
    assert len(provider.calls) == 1


def test_comes_back_when_there_is_no_connection(kind: str, keys: None) -> None:
    make_pool(provider=kind, base_url="http://127.0.0.1:1")
    with pytest.raises(TryAgain, match="could not be reached"):
        llm.request(attempt(), **ARGS)


@pytest.mark.parametrize("status", [301, 308, 401, 402, 403, 404, 405, 410, 421, 451])
def test_a_wrong_key_or_address_costs_no_job(provider: Provider, kind: str, status: int) -> None:
    make_llm_pool(provider, kind)
    provider.fail(CALL[kind], status, {"error": {"message": "not for you", "type": "x"}})
    mine = attempt()
    with pytest.raises(TryAgain, match=f"{status}: not for you"):
        llm.request(mine, **ARGS)
    assert len(provider.calls) == 1


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("openai", {"code": "model_not_found", "message": "No model small."}),
        ("anthropic", {"type": "not_found_error", "message": "model: small"}),
    ],
)
def test_gives_up_on_a_model_that_is_not_there(
    provider: Provider, kind: str, error: dict[str, Any]
) -> None:
    make_llm_pool(provider, kind)
    provider.fail(CALL[kind], 404, {"error": error})
    with pytest.raises(GiveUp, match="404"):
        llm.request(attempt(), **ARGS)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_gives_up_on_what_the_provider_refuses(provider: Provider, kind: str, status: int) -> None:
    make_llm_pool(provider, kind)
    provider.fail(CALL[kind], status, {"error": {"message": "not like this", "type": "x"}})
    mine = attempt()
    with pytest.raises(GiveUp, match=f"{status}: not like this"):
        llm.request(mine, **ARGS)
    assert mine.usage == (0, 0, 0)


@pytest.mark.parametrize(
    ("kind", "status", "error"),
    [
        ("openai", 429, {"code": "insufficient_quota", "message": "You exceeded your quota."}),
        ("anthropic", 429, {"message": "Cap.", "details": {"error_code": "x_spend_limit_reached"}}),
        ("anthropic", 402, {"type": "billing_error", "message": "Pay."}),
        ("anthropic", 400, {"message": "Your credit balance is too low to do this."}),
    ],
)
def test_gives_up_when_the_money_is_used_up(
    provider: Provider, kind: str, status: int, error: dict[str, Any]
) -> None:
    make_llm_pool(provider, kind)
    provider.fail(CALL[kind], status, {"error": error}, headers={"retry-after": "1"})
    with pytest.raises(GiveUp, match="used up its money"):
        llm.request(attempt(), **ARGS)
    assert len(provider.calls) == 1


def test_a_request_without_an_answer_fails_with_its_estimate(provider: Provider, kind: str) -> None:
    make_llm_pool(provider, kind)
    provider.fail(CALL[kind], DROP)
    mine = attempt()
    with pytest.raises(RuntimeError, match="gave no answer"):
        llm.request(mine, **ARGS)
    assert mine.usage is None


def test_waits_no_longer_than_its_time(provider: Provider, kind: str) -> None:
    make_llm_pool(provider, kind)
    provider.silent = True
    mine = attempt(seconds=1)
    with pytest.raises(RuntimeError, match="gave no answer"):
        llm.request(mine, **ARGS)
    assert mine.usage is None


def test_hangs_up_when_its_job_is_cancelled(provider: Provider, kind: str) -> None:
    make_llm_pool(provider, kind)
    llm.request(attempt(), **ARGS)  # so that a connection is used again
    provider.silent = True
    mine = attempt()
    Timer(0.3, mine.cancel).start()
    with pytest.raises(GiveUp, match="Cancelled"):
        llm.request(mine, **ARGS)
    assert provider.gone.wait(5)
    assert mine.remaining_seconds > 50


def test_a_line_that_was_cut_serves_again(provider: Provider, kind: str) -> None:
    test_hangs_up_when_its_job_is_cancelled(provider, kind)
    provider.silent = False
    provider.gone.clear()
    assert llm.request(attempt(), **ARGS)


def test_a_cancelled_job_does_not_start(provider: Provider, kind: str) -> None:
    make_llm_pool(provider, kind)
    mine = attempt()
    mine.cancel()
    with pytest.raises(TryAgain):
        llm.request(mine, **ARGS)
    assert provider.calls == []


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"usage":{"prompt_tokens":"many"}}'])
def test_an_unreadable_answer_is_a_failure(provider: Provider, body: bytes) -> None:
    make_llm_pool(provider, "openai")
    provider.fail(CALL["openai"], 200, body)
    with pytest.raises(RuntimeError, match="unreadable"):
        llm.request(attempt(), **ARGS)


def test_arguments_the_sdk_does_not_know_are_given_up(provider: Provider, kind: str) -> None:
    make_llm_pool(provider, kind)
    with pytest.raises(GiveUp, match="colour"):
        llm.request(attempt(), **ARGS, colour="red")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"stream": True}, "leave `stream` out"),
        ({"model": ""}, "name the model"),
        ({"model": 7}, "name the model"),
        ({"messages": "hello"}, "messages as a list"),
        ({"extra_headers": {"x": "y"}}, "leave out extra_headers"),
        ({"timeout": 5}, "leave out timeout"),
    ],
)
def test_unfit_arguments_are_refused_at_the_door(changes: dict[str, Any], says: str) -> None:
    make_classes()
    make_pool()
    with pytest.raises(Implausible, match=says):
        enqueue(task=llm.NAME, args=ARGS | changes)
    with pytest.raises(Implausible, match="messages"):
        enqueue(task=llm.NAME, args={"model": "small"})


def test_a_missing_key_is_named(
    provider: Provider, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_llm_pool(provider, kind)
    monkeypatch.delenv(f"{kind.upper()}_API_KEY")
    with pytest.raises(TryAgain, match=f"set {kind.upper()}_API_KEY"):
        llm.request(attempt(), **ARGS)


def test_a_pool_may_have_a_key_of_its_own(provider: Provider, kind: str, settings: Any) -> None:
    pool = make_llm_pool(provider, kind)
    settings.BUDGET_PROVIDER_KEYS = {"claims": "sk-claims"}
    assert client_of(pool).api.api_key == "sk-claims"


def test_an_address_that_the_operator_gives_goes_before_that_of_a_pool(
    provider: Provider, kind: str, settings: Any
) -> None:
    make_pool(provider=kind, base_url="https://llm.internal")
    settings.BUDGET_PROVIDER_HOSTS = []
    settings.BUDGET_PROVIDER_BASE_URLS = {kind: provider.url + ADDRESSES[kind]}
    llm.request(attempt(), **ARGS)
    assert provider.calls == [CALL[kind]]


def test_a_missing_package_is_named(
    provider: Provider, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_llm_pool(provider, kind)
    monkeypatch.setitem(sys.modules, kind, None)
    with pytest.raises(TryAgain, match=r"install token-budget\[providers\]"):
        llm.request(attempt(), **ARGS)


@pytest.mark.parametrize("other", ["azure", "bedrock", "gemini"])
def test_other_providers_want_a_gateway(other: str) -> None:
    make_pool(provider=other)
    with pytest.raises(GiveUp, match="gateway"):
        llm.request(attempt(), **ARGS)


def test_each_thread_keeps_a_client_of_its_own(provider: Provider, kind: str) -> None:
    pool = make_llm_pool(provider, kind)
    found: list[object] = []
    thread = Thread(target=lambda: found.append(client_of(pool).api))
    thread.start()
    thread.join()
    assert client_of(pool).api is client_of(pool).api
    assert client_of(pool).api is not found[0]


def test_a_bulk_request_is_one_for_the_batch_endpoint(provider: Provider) -> None:
    make_bulk_pool(provider, "openai")
    assert services.job(ask())["state"] == "queued"
    assert llm.batch_model(ARGS) == "small"


def test_what_the_answers_say_of_the_limits_is_told(provider: Provider, kind: str) -> None:
    make_classes()
    pool = make_llm_pool(provider, kind)
    provider.fail(CALL[kind], 429, headers={"retry-after": "60"})
    with pytest.raises(TryAgain):
        llm.request(attempt(), **ARGS)
    assert eventually(lambda: services.pool_view("claims")["classes"]["nightly"]["backoff_until"])
    spent = {"type": "billing_error", "code": "insufficient_quota", "message": "all is spent"}
    provider.fail(CALL[kind], 429, {"error": spent})
    with pytest.raises(GiveUp):
        llm.request(attempt(), **ARGS)
    assert eventually(lambda: services.pool_view("claims")["spend_cap_reached"])
    pool.refresh_from_db()
    assert pool.paused
