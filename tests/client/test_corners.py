"""Rarer ways to call: Azure's clients, the SDKs' helpers, redirects and proxies."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pydantic
import pytest

from budget.client import AsyncBudgetTransport, BudgetTransport, Service, workload
from budget.client.testing import ScriptedGate
from budget.client.verdict import Admitted, Ending
from budget.providers import Tokens
from budget.providers.standing import ProviderLimit
from tests.client import answers
from tests.client.served import SOON, ask, until, well
from tests.client.servers import Answer, Asked, Server, serving
from tests.client.test_transport import CHAT, CLAUDE, ending

DEPLOYMENT = "claims-mini"
AZURE: dict[str, Any] = {"model": DEPLOYMENT, "messages": CHAT["messages"], "max_tokens": 64}
TOOL: Any = {"type": "function", "function": {"name": "find_policy", "parameters": {}}}
DRAINED = {
    "x-ratelimit-limit-tokens": "60000",
    "x-ratelimit-remaining-tokens": "12",
    "x-ratelimit-reset-tokens": "59s",
}
NOWHERE = "http://127.0.0.1:9"


class Cover(pydantic.BaseModel):
    covered: bool


def azure(provider: Server, named: bool) -> dict[str, Any]:
    """A client may name its deployment once, or each call does by its model."""
    deployment = {"azure_deployment": DEPLOYMENT} if named else {}
    return {
        "api_key": "k",
        "azure_endpoint": provider.url,
        "api_version": "2024-10-21",
        **deployment,
    }


@pytest.fixture
def http(gate: ScriptedGate) -> Iterator[httpx2.Client]:
    """On our transport, as it is given to an SDK; here for requests of no SDK."""
    with httpx2.Client(transport=BudgetTransport("claims", gate=gate)) as client:
        yield client


@pytest.mark.parametrize("named", [True, False], ids=["of the client", "of the call"])
def test_azures_client_calls_a_deployment(
    gate: ScriptedGate, provider: Server, named: bool
) -> None:
    provider.answer = lambda asked: answers.chat(**DRAINED)
    transport = BudgetTransport(lambda model: f"pool-{model}", gate=gate)
    with (
        openai.DefaultHttpxClient(transport=transport) as http,
        openai.AzureOpenAI(**azure(provider, named), http_client=http) as client,
        workload("adjuster"),
    ):
        client.chat.completions.create(**AZURE)
    (asked,) = provider.asked
    path = f"/openai/deployments/{DEPLOYMENT}/chat/completions?api-version=2024-10-21"
    assert asked.path == path
    assert (gate.asks[0].pool, gate.asks[0].output_tokens) == (f"pool-{DEPLOYMENT}", 64)
    assert ending(gate) == Ending("succeeded", Tokens(42, 7, 10))
    assert gate.standings[0].limits == (ProviderLimit("total_tokens", 60_000, 12, 59.0),)


def test_azures_async_client_streams_from_a_deployment(
    gate: ScriptedGate, provider: Server
) -> None:
    provider.answer = lambda asked: answers.streamed(answers.chat_stream(usage=answers.USAGE))

    async def stream() -> None:
        transport = AsyncBudgetTransport("claims", gate=gate)
        http = openai.DefaultAsyncHttpxClient(transport=transport)
        async with openai.AsyncAzureOpenAI(**azure(provider, True), http_client=http) as client:
            async for _ in await client.chat.completions.create(**AZURE, stream=True):
                pass

    asyncio.run(stream())
    assert ending(gate) == Ending("succeeded", Tokens(42, 7, 10))


def test_azures_embeddings_are_charged_their_input(gate: ScriptedGate, provider: Server) -> None:
    provider.answer = lambda asked: answers.embeddings(12)
    http = openai.DefaultHttpxClient(transport=BudgetTransport("claims", gate=gate))
    with openai.AzureOpenAI(**azure(provider, False), http_client=http) as client:
        client.embeddings.create(model=DEPLOYMENT, input="water damage")
    assert ending(gate).used == Tokens(12, 0)


def test_a_raw_response_is_settled_at_its_usage(
    gate: ScriptedGate,
    provider: Server,
    chat: openai.OpenAI,
    claude: anthropic.Anthropic,
) -> None:
    provider.answer = lambda asked: answers.chat()
    raw = chat.chat.completions.with_raw_response.create(**CHAT)
    assert raw.headers["date"]
    assert raw.parse().usage
    provider.answer = lambda asked: answers.message()
    assert claude.messages.with_raw_response.create(**CLAUDE).parse().usage
    assert [end.used for _, end in gate.endings] == [Tokens(42, 7, 10), Tokens(20, 9)]


def test_a_streaming_response_is_settled_once_it_was_read(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.chat()
    with chat.chat.completions.with_streaming_response.create(**CHAT) as response:
        assert gate.endings == []
        assert b"Covered." in b"".join(response.iter_bytes())
    assert ending(gate) == Ending("succeeded", Tokens(42, 7, 10))


def test_a_streaming_response_that_nobody_reads_counts_as_estimated(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.chat()
    with chat.chat.completions.with_streaming_response.create(**CHAT, max_tokens=64) as response:
        assert response.headers["date"]
    (asked,) = gate.asks
    assert ending(gate).used == Tokens(asked.input_tokens, 64)


def test_parsed_answers_of_chat_and_responses(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    covered = '{"covered": true}'
    said = answers.chat()
    said.body["choices"][0]["message"]["content"] = covered
    provider.answer = lambda asked: said
    completion = chat.chat.completions.parse(**CHAT, response_format=Cover)
    assert completion.choices[0].message.parsed == Cover(covered=True)
    told = answers.response()
    told.body["output"][0]["content"][0]["text"] = covered
    provider.answer = lambda asked: told
    response = chat.responses.parse(model="gpt-5-mini", input="Covered?", text_format=Cover)
    assert response.output_parsed == Cover(covered=True)
    assert [end.used for _, end in gate.endings] == [Tokens(42, 7, 10), Tokens(30, 6, 4)]


def test_the_schema_of_an_answer_is_input_too(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.chat(usage=None)
    chat.chat.completions.create(**CHAT)
    chat.chat.completions.with_raw_response.parse(**CHAT, response_format=Cover)
    plain, with_schema = (asked.input_tokens for asked in gate.asks)
    assert with_schema > plain


def test_the_stream_helpers_of_openai(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.streamed(answers.chat_stream(usage=answers.USAGE))
    with chat.chat.completions.stream(**CHAT) as stream:
        assert [event for event in stream if event.type == "content.delta"]
    created = {"type": "response.created", "sequence_number": 0}
    opening = answers.response_body() | {"status": "in_progress", "output": [], "usage": None}
    events = [
        answers.event(created | {"response": opening}, "response.created"),
        answers.response_stream()[-1],
    ]
    provider.answer = lambda asked: answers.streamed(events)
    with chat.responses.stream(model="gpt-5-mini", input="Covered?") as events_of:
        assert events_of.get_final_response().output_text == "Covered."
    assert [end for _, end in gate.endings] == [
        Ending("succeeded", Tokens(42, 7, 10)),
        Ending("succeeded", Tokens(30, 6, 4)),
    ]


def test_the_async_stream_helper_of_anthropic(gate: ScriptedGate, provider: Server) -> None:
    provider.answer = lambda asked: answers.streamed(answers.message_stream())

    async def stream() -> None:
        transport = AsyncBudgetTransport("claims", gate=gate)
        http = anthropic.DefaultAsyncHttpxClient(transport=transport)
        async with (
            anthropic.AsyncAnthropic(
                api_key="k", base_url=provider.url, http_client=http
            ) as client,
            client.messages.stream(**CLAUDE) as events,
        ):
            assert [text async for text in events.text_stream] == ["Covered by the policy."]

    asyncio.run(stream())
    assert ending(gate) == Ending("succeeded", Tokens(25, 9, 5))


def test_a_background_response_counts_as_estimated_while_nobody_knows_better(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    queued = answers.response_body() | {"status": "queued", "output": [], "usage": None}
    provider.answer = lambda asked: Answer(200, queued)
    made = chat.responses.create(
        model="gpt-5-mini", input="Covered?", max_output_tokens=300, background=True
    )
    chat.responses.retrieve(made.id)
    (asked,) = gate.asks
    assert ending(gate) == Ending("succeeded", Tokens(asked.input_tokens, 300))


def test_a_background_response_that_is_streamed_to_its_end_is_settled_at_its_usage(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.streamed(answers.response_stream())
    made = chat.responses.create(
        model="gpt-5-mini", input="Covered?", background=True, stream=True, max_output_tokens=300
    )
    assert [event.type for event in made][-1] == "response.completed"
    assert ending(gate) == Ending("succeeded", Tokens(30, 6, 4))


def test_the_arguments_of_tools_count_as_output_of_a_stream(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI, claude: anthropic.Anthropic
) -> None:
    argument = json.dumps({"policy": "north " * 50})
    first = {"index": 0, "id": "call_1", "type": "function"}
    pieces = [
        answers.chat_delta({"tool_calls": [{**first, "function": {"name": "find_policy"}}]}),
        answers.chat_delta({"tool_calls": [{"index": 0, "function": {"arguments": argument}}]}),
        b"data: [DONE]\n\n",
    ]
    provider.answer = lambda asked: answers.streamed(pieces)
    for _ in chat.chat.completions.create(**CHAT, stream=True, tools=[TOOL]):
        pass
    block = {"type": "tool_use", "id": "toolu_1", "name": "find_policy", "input": {}}
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    delta = {"type": "input_json_delta", "partial_json": argument}
    cut = [
        answers.message_stream()[0],
        answers.event(start, "content_block_start"),
        answers.event(
            {"type": "content_block_delta", "index": 0, "delta": delta}, "content_block_delta"
        ),
    ]
    provider.answer = lambda asked: answers.streamed(cut)
    for _ in claude.messages.create(**CLAUDE, stream=True):
        pass
    (_, of_chat), (_, of_claude) = gate.endings
    assert (of_chat.outcome, of_claude.outcome) == ("succeeded", "failed")
    assert all(75 < end.used.output < 320 for end in (of_chat, of_claude))


def test_three_choices_are_asked_for_thrice_and_counted_together(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.chat()
    chat.chat.completions.create(**CHAT, n=3, max_tokens=40)
    provider.answer = lambda asked: answers.streamed(answers.chat_stream(words=60))
    for _ in chat.chat.completions.create(**CHAT, n=3, max_tokens=40, stream=True):
        pass
    assert [asked.output_tokens for asked in gate.asks] == [120, 120]
    (_, whole), (_, streamed) = gate.endings
    assert whole.used == Tokens(42, 7, 10)
    assert 60 < streamed.used.output < 300


def moved(provider: Server, status: int) -> Callable[[Asked], Answer]:
    """Sends whoever asks on to another place, which answers."""

    def answer(asked: Asked) -> Answer:
        if asked.path.startswith("/v2"):
            return answers.chat()
        return Answer(status, b"", {"Location": f"{provider.url}/v2/chat/completions"})

    return answer


@pytest.mark.parametrize("status", [307, 308])
def test_each_hop_of_a_redirected_call_is_accounted_for(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI, status: int
) -> None:
    provider.answer = moved(provider, status)
    with workload("adjuster"):
        chat.chat.completions.create(**CHAT)
    first, second = gate.endings
    assert first == (gate.asks[0], Ending("failed", Tokens(0, 0)))
    assert second == (gate.asks[1], Ending("succeeded", Tokens(42, 7, 10)))
    assert gate.asks[0].key != gate.asks[1].key
    assert {asked.workload_class for asked in gate.asks} == {"adjuster"}
    assert provider.asked[0].body == provider.asked[1].body


def test_the_second_hop_of_a_redirected_call_may_be_shed(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    def answer(asked: Asked) -> Answer:
        gate.shed("headroom")
        return moved(provider, 307)(asked)

    provider.answer = answer
    with pytest.raises(openai.RateLimitError):
        chat.chat.completions.create(**CHAT)
    assert len(provider.asked) == 1
    assert ending(gate) == Ending("failed", Tokens(0, 0))


def test_a_redirect_that_isnt_followed_is_charged_nothing(
    gate: ScriptedGate, provider: Server, http: httpx2.Client
) -> None:
    provider.answer = moved(provider, 307)
    answer = http.post(f"{provider.url}/v1/chat/completions", json=CHAT)
    assert answer.status_code == 307
    assert ending(gate) == Ending("failed", Tokens(0, 0))


def test_a_call_goes_through_a_proxy(gate: ScriptedGate, provider: Server) -> None:
    provider.answer = lambda asked: answers.chat()

    def pass_on(asked: Asked) -> Answer:
        with httpx2.Client(trust_env=False) as client:
            kind = {"Content-Type": asked.headers["content-type"]}
            answer = client.post(asked.path, content=asked.body, headers=kind)
        return Answer(answer.status_code, answer.content, {"Content-Type": "application/json"})

    with serving() as proxy:
        proxy.answer = pass_on
        inner = httpx2.HTTPTransport(proxy=proxy.url)
        transport = BudgetTransport("claims", gate=gate, inner=inner)
        http = openai.DefaultHttpxClient(transport=transport)
        address = f"{provider.url}/v1"
        with openai.OpenAI(api_key="k", base_url=address, http_client=http) as client:
            client.chat.completions.create(**CHAT)
        assert [asked.path for asked in proxy.asked] == [f"{address}/chat/completions"]
    assert len(provider.asked) == 1
    assert ending(gate) == Ending("succeeded", Tokens(42, 7, 10))


@pytest.mark.parametrize("refuses", [True, False], ids=["refuses", "away"])
def test_what_a_proxy_doesnt_let_through_never_left(gate: ScriptedGate, refuses: bool) -> None:
    with serving() as proxy:
        # It knows no CONNECT.
        address = proxy.url if refuses else NOWHERE
        inner = httpx2.HTTPTransport(proxy=address)
        http = openai.DefaultHttpxClient(
            transport=BudgetTransport("claims", gate=gate, inner=inner)
        )
        with (
            openai.OpenAI(
                api_key="k",
                base_url="https://provider.invalid/v1",
                http_client=http,
                max_retries=0,
            ) as client,
            pytest.raises(openai.APIConnectionError),
        ):
            client.chat.completions.create(**CHAT)
    assert ending(gate) == Ending("cancelled", Tokens(0, 0))


def test_a_400_for_tokens_per_minute_tells_that_the_provider_is_drained(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.error(400, "tokens_per_minute", **DRAINED)
    for streamed in (False, True):
        with pytest.raises(openai.BadRequestError):
            chat.chat.completions.create(**CHAT, stream=streamed)
    assert [end for _, end in gate.endings] == [Ending("failed", Tokens(0, 0))] * 2
    drained = (ProviderLimit("total_tokens", 60_000, 12, 59.0),)
    assert [standing.limits for standing in gate.standings] == [drained, drained]


def test_the_key_stands_in_no_log_and_no_error_through_an_outage(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "prefix.0f1e2d3c4b5a"
    with serving() as server:
        server.answer = well
        gate = Service(server.url, secret)
        verdict = gate.admit(ask())
        assert isinstance(verdict, Admitted)
        until(lambda: gate._away.knows("claims"))
        for fault in (Answer(500, {}), Answer(hang_up=True), Answer(200, b"<html>")):
            server.answer = lambda asked, fault=fault: fault
            gate._breaker.close()
            gate.admit(ask())
        gate.settle(verdict, Ending("succeeded", Tokens(9, 9)))
        server.answer = lambda asked: Answer(401, {"detail": "No such key."})
        until(lambda: not gate._breaker.is_open)
        refused = gate.admit(ask())
        assert gate.flush(SOON)
        gate.close()
    said = f"{caplog.text} {refused!r} {vars(gate)!r}"
    assert "is away" in said
    assert "0f1e2d3c4b5a" not in said
