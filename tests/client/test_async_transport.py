"""The async SDKs on our transport, cancellation included."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import openai
import pytest

from budget.client import AsyncBudgetTransport, workload
from budget.client.testing import ScriptedGate
from budget.client.verdict import Ask, Ending, Verdict
from budget.client.watch import watch
from budget.providers import Tokens
from tests.client import answers
from tests.client.servers import Answer, Server
from tests.client.test_transport import CHAT, CLAUDE, ending

Use = Callable[[openai.AsyncOpenAI], Awaitable[None]]


def run(gate: ScriptedGate, provider: Server, use: Use) -> None:
    async def whole() -> None:
        async with client(gate, provider) as chat:
            await use(chat)

    asyncio.run(whole())


@asynccontextmanager
async def client(gate: ScriptedGate, provider: Server) -> AsyncIterator[openai.AsyncOpenAI]:
    http = openai.DefaultAsyncHttpxClient(transport=AsyncBudgetTransport("claims", gate=gate))
    address = f"{provider.url}/v1"
    async with openai.AsyncOpenAI(api_key="k", base_url=address, http_client=http) as chat:
        yield chat


def test_calls_of_many_tasks_are_tagged_each_with_its_own(
    gate: ScriptedGate, provider: Server
) -> None:
    provider.answer = lambda asked: answers.chat()

    async def one(chat: openai.AsyncOpenAI, name: str) -> None:
        with workload(name, deadline=5.0):
            await chat.chat.completions.create(**CHAT)

    async def use(chat: openai.AsyncOpenAI) -> None:
        await asyncio.gather(*(one(chat, f"class-{n}") for n in range(10)))

    run(gate, provider, use)
    assert {ask.workload_class for ask in gate.asks} == {f"class-{n}" for n in range(10)}
    assert {end for _, end in gate.endings} == {Ending("succeeded", Tokens(42, 7, 10))}
    assert all("test_async_transport.py" in ask.source for ask in gate.asks)


def test_a_shed_call_is_the_sdks_own_error(gate: ScriptedGate, provider: Server) -> None:
    gate.shed("headroom", retry_after=4)

    async def use(chat: openai.AsyncOpenAI) -> None:
        with pytest.raises(openai.RateLimitError) as refused:
            await chat.chat.completions.create(**CHAT)
        assert refused.value.code == "headroom"

    run(gate, provider, use)
    assert provider.asked == []


def test_a_refused_call_waits_without_stopping_the_loop(
    gate: ScriptedGate, provider: Server
) -> None:
    provider.answer = lambda asked: answers.chat()
    gate.shed(retry_after=0.5)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.02)
            ticks += 1

    async def use(chat: openai.AsyncOpenAI) -> None:
        ticking = asyncio.create_task(tick())
        with workload("adjuster", deadline=5.0):
            await chat.chat.completions.create(**CHAT)
        ticking.cancel()

    run(gate, provider, use)
    assert ticks > 5
    assert len(gate.asks) == 2


def test_streams_of_both_sdks(gate: ScriptedGate, provider: Server) -> None:
    async def use(chat: openai.AsyncOpenAI) -> None:
        provider.answer = lambda asked: answers.streamed(answers.chat_stream(usage=answers.USAGE))
        async for _ in await chat.chat.completions.create(**CHAT, stream=True):
            pass
        provider.answer = lambda asked: answers.streamed(answers.message_stream())
        http = anthropic.DefaultAsyncHttpxClient(
            transport=AsyncBudgetTransport("claims", gate=gate)
        )
        async with (
            anthropic.AsyncAnthropic(
                api_key="k", base_url=provider.url, http_client=http
            ) as claude,
            claude.messages.stream(**CLAUDE) as stream,
        ):
            await stream.get_final_message()

    run(gate, provider, use)
    assert [end for _, end in gate.endings] == [
        Ending("succeeded", Tokens(42, 7, 10)),
        Ending("succeeded", Tokens(25, 9, 5)),
    ]


def test_a_call_cancelled_on_its_way_counts_as_estimated(
    gate: ScriptedGate, provider: Server
) -> None:
    provider.answer = lambda asked: Answer(200, {}, after=1.0)

    async def use(chat: openai.AsyncOpenAI) -> None:
        task = asyncio.create_task(chat.chat.completions.create(**CHAT, max_tokens=9))
        while not provider.asked:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(gate, provider, use)
    assert ending(gate) == Ending("failed", Tokens(gate.asks[0].input_tokens, 9))


def test_a_stream_cancelled_in_its_middle_is_settled_at_what_was_seen(
    gate: ScriptedGate, provider: Server
) -> None:
    slow = answers.streamed(answers.chat_stream(words=200), pause=0.01)
    provider.answer = lambda asked: slow

    async def use(chat: openai.AsyncOpenAI) -> None:
        async def read() -> None:
            seen = 0
            stream = await chat.chat.completions.create(**CHAT, stream=True, max_tokens=4000)
            async for _ in stream:
                seen += 1
                if seen == 3:
                    began.set()

        began = asyncio.Event()
        task = asyncio.create_task(read())
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(gate, provider, use)
    assert ending(gate).outcome == "failed"
    assert 0 < ending(gate).used.output < 400


class SlowGate(ScriptedGate):
    """Takes its time to decide."""

    async def admit_async(self, ask: Ask, user: object) -> Verdict:
        await asyncio.sleep(5)
        return self.admit(ask)


def test_a_call_cancelled_while_it_waits_for_its_admission_never_leaves(provider: Server) -> None:
    gate = SlowGate()

    async def use(chat: openai.AsyncOpenAI) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await chat.chat.completions.create(**CHAT)

    run(gate, provider, use)
    assert provider.asked == []
    assert gate.endings == []


def test_streams_that_are_dropped_are_settled(gate: ScriptedGate, provider: Server) -> None:
    provider.answer = lambda asked: answers.streamed(answers.chat_stream(words=30), pause=0.02)

    async def use(chat: openai.AsyncOpenAI) -> None:
        for _ in range(20):
            await chat.chat.completions.create(**CHAT, stream=True)
        gc.collect()

    run(gate, provider, use)
    gc.collect()
    end = time.monotonic() + 10
    while len(gate.endings) < 20 and time.monotonic() < end:
        gc.collect()
        watch.settle_dropped()
        time.sleep(0.05)
    assert len(gate.endings) == 20


def test_a_thread_of_a_task_makes_its_calls_for_the_same_work(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.chat()

    async def whole() -> Any:
        with workload("rescore"):
            return await asyncio.to_thread(chat.chat.completions.create, **CHAT)

    asyncio.run(whole())
    assert gate.asks[0].workload_class == "rescore"
