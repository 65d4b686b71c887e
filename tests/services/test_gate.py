"""The gate to the ledger in this process: what transports ask there is in the ledger."""

import asyncio
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import openai
import pytest
from django.db import DatabaseError, connection, transaction
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client
from django.urls import path

from budget.client import AsyncBudgetTransport, Budget, BudgetTransport, workload
from budget.client.verdict import Admitted, Ending, Refused
from budget.models import (
    Call,
    CallerProcess,
    Pool,
    WorkloadClass,
)
from budget.models import (
    ProviderLimit as KnownLimit,
)
from budget.providers import Tokens
from budget.providers.standing import ProviderLimit, Standing
from budget.services.gate import LedgerGate
from tests.api.conftest import lock_held
from tests.client import answers
from tests.client.served import until
from tests.client.servers import Server, serving
from tests.ledger.pools import make_pool
from tests.services.gated import TOKENS, ask, heard, settled

MESSAGES: Any = [{"role": "user", "content": "Is water damage covered?"}]
MODEL = "in-process"
"""A model of its own: what callers learn of one lasts as long as their process."""
CHAT: dict[str, Any] = {"model": MODEL, "messages": MESSAGES, "max_tokens": 50}


@pytest.fixture
def provider() -> Iterator[Server]:
    with serving() as server:
        server.answer = lambda asked: answers.chat()
        yield server


@pytest.fixture
def chat(gate: LedgerGate, provider: Server) -> Iterator[openai.OpenAI]:
    http = openai.DefaultHttpxClient(transport=BudgetTransport("claims", gate=gate))
    with openai.OpenAI(api_key="k", base_url=f"{provider.url}/v1", http_client=http) as client:
        yield client


# Calls


def test_a_call_of_an_sdk_is_in_the_ledger_as_the_provider_counted_it(chat: openai.OpenAI) -> None:
    with workload("adjuster", deadline=4.0, tenant="north"):
        chat.chat.completions.create(**CHAT)
    (call,) = settled()
    assert (call.outcome, call.workload_class, call.tags) == (
        "succeeded",
        "adjuster",
        {"tenant": "north"},
    )
    used = (call.used_input_tokens, call.used_output_tokens, call.used_cached_input_tokens)
    assert used == (42, 7, 10)
    assert "test_gate.py" in call.source


def test_the_other_sdk_in_an_event_loop(gate: LedgerGate, provider: Server) -> None:
    provider.answer = lambda asked: answers.message()

    async def call() -> None:
        transport = AsyncBudgetTransport("claims", gate=gate)
        http = anthropic.DefaultAsyncHttpxClient(transport=transport)
        async with anthropic.AsyncAnthropic(
            api_key="k", base_url=provider.url, http_client=http
        ) as client:
            with workload("rescore"):
                asking = [
                    client.messages.create(model=MODEL, messages=MESSAGES, max_tokens=9)
                    for _ in range(4)
                ]
                await asyncio.gather(*asking)

    asyncio.run(call())
    calls = settled()
    assert len(calls) == 4
    assert {(call.used_input_tokens, call.used_output_tokens) for call in calls} == {(20, 9)}


def test_many_tasks_wait_for_the_ledger_at_once(gate: LedgerGate) -> None:
    async def admitted() -> int:
        verdicts = await asyncio.gather(*(gate.admit_async(ask(tokens=1), gate) for _ in range(40)))
        return sum(isinstance(verdict, Admitted) for verdict in verdicts)

    assert asyncio.run(admitted()) == 40


def test_many_threads_share_one_gate(chat: openai.OpenAI) -> None:
    with ThreadPoolExecutor(8) as threads, workload("rescore"):
        for done in [threads.submit(chat.chat.completions.create, **CHAT) for _ in range(40)]:
            done.result()
    assert len(settled()) == 40
    assert {call.workload_class for call in Call.objects.all()} == {"rescore"}


def test_a_shed_call_is_the_sdks_own_error_after_one_attempt(
    chat: openai.OpenAI, provider: Server
) -> None:
    Pool.objects.update(paused=True)
    with workload("adjuster"), pytest.raises(openai.RateLimitError) as refused:
        chat.chat.completions.create(**CHAT)
    assert refused.value.code == "paused"
    assert provider.asked == []
    assert [call.state for call in Call.objects.all()] == ["shed"]


def test_a_call_that_never_fits_need_not_come_back(gate: LedgerGate) -> None:
    verdict = gate.admit(ask(tokens=70_000))
    assert isinstance(verdict, Refused)
    assert (verdict.status, verdict.reason, verdict.retry_after_ms) == (422, "never_fits", None)
    assert verdict.body["id"] == str(Call.objects.get().pk)


def test_a_refused_call_is_told_when_it_would_fit(gate: LedgerGate) -> None:
    taken = gate.admit(ask(tokens=50_000))
    assert isinstance(taken, Admitted)
    verdict = gate.admit(ask("rescore", tokens=20_000, deadline_ms=60_000))
    assert isinstance(verdict, Refused)
    assert (verdict.status, verdict.reason) == (429, "pool_exhausted")
    assert 0 < (verdict.retry_after_ms or 0) < 60_000


@pytest.mark.parametrize(
    ("wrong", "status", "said"),
    [
        ({"pool": "nobody"}, 404, "nobody"),
        ({"pool": "x" * 300}, 400, "pool"),
        ({"pool": "a\0b"}, 400, "pool"),
        ({"workload_class": "nobody"}, 404, "nobody"),
        ({"tokens": -1}, 400, "input_tokens"),
        ({"deadline_ms": 0}, 400, "deadline_ms"),
        ({"tags": {"": "x"}}, 400, "tags"),
    ],
)
def test_what_is_wrong_with_a_call_is_said_by_name(
    gate: LedgerGate, wrong: dict[str, Any], status: int, said: str
) -> None:
    verdict = gate.admit(ask(**wrong))
    assert isinstance(verdict, Refused)
    assert (verdict.status, verdict.reason) == (status, "")
    assert said in verdict.detail


def test_a_caller_cancelled_while_it_waits_leaves_no_admission(
    gate: LedgerGate, pool: Pool
) -> None:
    heard(gate)

    async def cancelled() -> None:
        task = asyncio.create_task(gate.admit_async(ask(), gate))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with lock_held(pool), ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(asyncio.run, cancelled())
        time.sleep(0.2)
    waiting.result()
    until(lambda: Call.objects.count() == 2)
    assert {call.outcome for call in settled()} == {"cancelled"}


# Inside of a project


def sync_view(request: HttpRequest) -> HttpResponse:
    with Budget(gate=request_gate).admit(
        "claims", "adjuster", input_tokens=10, output_tokens=5
    ) as call:
        call.settle(9, 4)
    return HttpResponse(call.admitted.id)


async def async_view(request: HttpRequest) -> HttpResponse:
    verdict = await request_gate.admit_async(ask(), request_gate)
    assert isinstance(verdict, Admitted)
    request_gate.settle(verdict, Ending("succeeded", Tokens(9, 4)))
    return HttpResponse(verdict.id)


urlpatterns = [path("sync", sync_view), path("async", async_view)]
request_gate = LedgerGate()


@pytest.fixture
def project(pool: Pool, settings: Any) -> Iterator[None]:
    settings.MIDDLEWARE = []
    settings.ROOT_URLCONF = __name__
    yield
    request_gate.close()


def test_sync_and_async_views(project: None) -> None:
    first = Client().get("/sync").content.decode()
    second = asyncio.run(AsyncClient().get("/async")).content.decode()
    assert {str(call.pk) for call in settled()} == {first, second}
    assert {call.used_input_tokens for call in Call.objects.all()} == {9}


def test_a_callers_transaction_is_no_matter(gate: LedgerGate) -> None:
    with transaction.atomic():
        verdict = gate.admit(ask())
        assert isinstance(verdict, Admitted)
        gate.settle(verdict, Ending("succeeded", Tokens(1, 1)))
        transaction.set_rollback(True)
    assert len(settled()) == 1


@pytest.mark.parametrize("known", [True, False])
def test_nor_is_one_that_is_broken(gate: LedgerGate, known: bool) -> None:
    if known:
        heard(gate)
    with transaction.atomic():
        with pytest.raises(DatabaseError), connection.cursor() as cursor:
            cursor.execute("SELECT nothing")
        transaction.set_rollback(True)
        verdict = gate.admit(ask())
    assert isinstance(verdict, Admitted)
    assert verdict.away is None


def test_a_pool_made_anew_is_found_also_in_a_broken_transaction(
    gate: LedgerGate, pool: Pool
) -> None:
    heard(gate)
    pool.delete()
    make_pool(TOKENS, shares={"adjuster": 50})
    with transaction.atomic():
        transaction.set_rollback(True)
        gate.admit(ask())
        until(lambda: getattr(gate.admit(ask()), "id", None))


def test_a_deleted_pool_is_forgotten(gate: LedgerGate, pool: Pool) -> None:
    heard(gate)
    pool.delete()
    verdict = gate.admit(ask())
    assert isinstance(verdict, Refused)
    assert verdict.status == 404
    pulse = gate._pulses["claims"]
    pulse._next_beat = 0.0
    pulse.observe(Standing((ProviderLimit("requests", 60, 12, 1.5),)))
    until(lambda: not pulse._thread.is_alive())
    verdict = gate.admit(ask())
    assert isinstance(verdict, Refused)
    assert verdict.status == 404


def test_a_pool_that_was_unknown_is_found_once_it_is_there(gate: LedgerGate) -> None:
    verdict = gate.admit(ask(pool="other"))
    assert isinstance(verdict, Refused)
    assert verdict.status == 404
    make_pool(TOKENS, slug="other")
    until(lambda: isinstance(gate.admit(ask(pool="other")), Admitted))


# Leases, and what providers say


def test_a_lease_lasts_as_long_as_the_class_says_and_is_renewed(
    gate: LedgerGate, classes: dict[str, WorkloadClass]
) -> None:
    verdict = gate.admit(ask())
    assert isinstance(verdict, Admitted)
    assert verdict.lease_seconds == classes["adjuster"].max_call_seconds
    before = Call.objects.get().lease_expires
    gate.renew(verdict, 30.0)
    until(lambda: Call.objects.get().lease_expires != before)
    assert (Call.objects.get().lease_expires - before).total_seconds() == 30


def test_a_block_that_lasts_longer_than_its_lease_keeps_it(gate: LedgerGate) -> None:
    WorkloadClass.objects.filter(slug="rescore").update(max_call_seconds=3)
    with Budget(gate=gate).admit("claims", "rescore", input_tokens=9, output_tokens=3):
        before = Call.objects.get().lease_expires
        until(lambda: Call.objects.get().lease_expires > before)
    (call,) = settled()
    assert call.outcome == "succeeded"


def test_nonsense_usage_is_settled_at_what_can_be_believed(gate: LedgerGate) -> None:
    verdict = gate.admit(ask(tokens=100))
    assert isinstance(verdict, Admitted)
    gate.settle(verdict, Ending("succeeded", Tokens(900_000_000, 7)))
    (call,) = settled()
    assert call.used_input_tokens <= 200_000


def test_what_a_provider_says_is_told_once_a_second_and_a_refusal_always(
    gate: LedgerGate,
) -> None:
    heard(gate)
    left = Standing((ProviderLimit("total_tokens", 500_000, 400_000, 1.5),))
    gate.observe("claims", left)
    gate.observe("claims", left)
    gate.observe("claims", Standing(refusal="busy", retry_after_seconds=3.0))
    pulse = gate._pulses["claims"]
    assert len(pulse._standings) <= 2
    until(lambda: KnownLimit.objects.exists() and not pulse._standings)


def test_a_spend_cap_stops_the_pool(
    chat: openai.OpenAI, provider: Server, gate: LedgerGate
) -> None:
    provider.answer = lambda asked: answers.error(429, "insufficient_quota")
    with workload("adjuster"), pytest.raises(openai.RateLimitError):
        chat.with_options(max_retries=0).chat.completions.create(**CHAT)
    until(lambda: Pool.objects.get().paused)
    verdict = gate.admit(ask())
    assert isinstance(verdict, Refused)
    assert verdict.reason == "paused"
    assert Call.objects.get(state="settled").outcome == "rate_limited"


def test_a_process_that_calls_is_known(gate: LedgerGate) -> None:
    heard(gate)
    caller = CallerProcess.objects.get()
    assert caller.process == gate._process
    assert caller.name.endswith(f":{os.getpid()}")


# Beginnings and ends


def test_a_closed_gate_leaves_no_thread_and_no_session_and_may_be_used_again(
    gate: LedgerGate,
) -> None:
    heard(gate)
    thread = gate._pulses["claims"]._thread
    gate.close()
    assert not thread.is_alive()
    heard(gate)


def test_nothing_to_do_costs_no_time(gate: LedgerGate) -> None:
    heard(gate)
    time.sleep(0.1)
    began = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - began < 0.1


def test_a_forked_child_has_threads_and_a_name_of_its_own(gate: LedgerGate) -> None:
    heard(gate)
    child = os.fork()
    if child == 0:
        try:
            verdict = gate.admit(ask())
            assert isinstance(verdict, Admitted)
            assert verdict.id is not None
            gate.settle(verdict, Ending("succeeded", Tokens(5, 5)))
            gate.close()
            from budget.ledger.writers import stop_writers

            stop_writers()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    heard(gate)
    assert CallerProcess.objects.count() == 2
    assert [call.used_input_tokens for call in settled()].count(5) == 1
