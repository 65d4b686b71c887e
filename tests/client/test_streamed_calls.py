"""Streams and long calls: settled at what was seen, renewed, and hung up on when dropped."""

import gc
import time
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from budget.client import BudgetTransport
from budget.client.testing import ScriptedGate
from budget.client.verdict import Admitted, Ask, Ending
from budget.client.watch import watch
from budget.providers import Tokens
from tests.client import answers
from tests.client.servers import Answer, Server
from tests.client.test_transport import CHAT, CLAUDE, ending


def test_a_stream_with_usage_is_settled_at_it(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    chunks = answers.chat_stream(usage=answers.USAGE)
    provider.answer = lambda asked: answers.streamed(chunks)
    options: Any = {"include_usage": True}
    for _ in chat.chat.completions.create(**CHAT, stream=True, stream_options=options):
        assert gate.endings == []
    assert ending(gate) == Ending("succeeded", Tokens(42, 7, 10))


def test_a_stream_without_usage_is_settled_at_what_was_seen_of_it(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.streamed(answers.chat_stream(words=40))
    for _ in chat.chat.completions.create(**CHAT, stream=True, max_tokens=4000):
        pass
    (ask,) = gate.asks
    assert ending(gate).outcome == "succeeded"
    assert ending(gate).used.input == ask.input_tokens
    # 40 words of 6 characters.
    assert 30 < ending(gate).used.output < 160


def test_responses_and_anthropic_streams(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI, claude: anthropic.Anthropic
) -> None:
    provider.answer = lambda asked: answers.streamed(answers.response_stream())
    for _ in chat.responses.create(model="gpt-5-mini", input="Covered?", stream=True):
        pass
    provider.answer = lambda asked: answers.streamed(answers.message_stream())
    with claude.messages.stream(**CLAUDE) as stream:
        assert stream.get_final_text() == "Covered by the policy."
    assert [end for _, end in gate.endings] == [
        Ending("succeeded", Tokens(30, 6, 4)),
        Ending("succeeded", Tokens(25, 9, 5)),
    ]


@pytest.mark.parametrize("streamed", [True, False])
def test_a_spend_cap_is_told_as_such_by_streams_too(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI, streamed: bool
) -> None:
    provider.answer = lambda asked: answers.error(429, "insufficient_quota")
    with pytest.raises(openai.RateLimitError):
        chat.with_options(max_retries=1).chat.completions.create(**CHAT, stream=streamed)
    assert {standing.refusal for standing in gate.standings} == {"money"}


def test_an_error_in_the_middle_of_a_stream_is_a_failure_and_is_told(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI, claude: anthropic.Anthropic
) -> None:
    busy = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    chunks = [*answers.message_stream(stop=False), answers.event(busy, "error")]
    provider.answer = lambda asked: answers.streamed(chunks)
    with pytest.raises(anthropic.APIError), claude.messages.stream(**CLAUDE) as stream:
        stream.get_final_text()
    failed = answers.response_body() | {
        "status": "failed",
        "error": {"code": "rate_limit_exceeded", "message": "No."},
    }
    said = {"type": "response.failed", "response": failed, "sequence_number": 1}
    provider.answer = lambda asked: answers.streamed([answers.event(said, "response.failed")])
    for _ in chat.responses.create(model="gpt-5-mini", input="Covered?", stream=True):
        pass
    assert [end.outcome for _, end in gate.endings] == ["failed", "failed"]
    assert [standing.refusal for standing in gate.standings] == ["busy", "busy"]


def test_an_answer_in_an_encoding_that_cant_be_read_counts_as_estimated(
    gate: ScriptedGate, provider: Server
) -> None:
    packed = Answer(200, b"not really brotli", answers.SSE | {"Content-Encoding": "br"})
    provider.answer = lambda asked: packed
    transport = BudgetTransport("claims", gate=gate)
    request = httpx2.Request(
        "POST", f"{provider.url}/v1/chat/completions", json=CHAT | {"max_tokens": 77}
    )
    response = transport.handle_request(request)
    for _ in response.stream:
        pass
    response.close()
    assert ending(gate) == Ending("succeeded", Tokens(gate.asks[0].input_tokens, 77))
    transport.close()


def test_a_stream_closed_early_is_settled_at_what_was_seen(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    slow = answers.streamed(answers.chat_stream(words=200), pause=0.01)
    provider.answer = lambda asked: slow
    with chat.chat.completions.create(**CHAT, stream=True, max_tokens=4000) as stream:
        next(iter(stream))
    assert ending(gate).outcome == "failed"
    assert 0 < ending(gate).used.output < 400


@pytest.mark.parametrize("hang_up", [True, False])
def test_a_stream_that_is_cut_is_settled_though_the_sdk_may_not_notice(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI, hang_up: bool
) -> None:
    cut = answers.streamed(answers.chat_stream(words=20, done=False), hang_up=hang_up)
    provider.answer = lambda asked: cut
    try:
        for _ in chat.chat.completions.create(**CHAT, stream=True, max_tokens=4000):
            pass
    except (openai.APIError, httpx2.HTTPError):
        assert hang_up
    assert ending(gate).outcome == "failed"
    assert ending(gate).used.output > 10


def test_streams_that_are_dropped_are_settled_once_nobody_has_them(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.streamed(answers.chat_stream(words=30), pause=0.02)
    for n in range(50):
        chunks = iter(chat.chat.completions.create(**CHAT, stream=True))
        if n % 2:
            next(chunks)
    del chunks
    gc.collect()
    end = time.monotonic() + 10
    while len(gate.endings) < 50 and time.monotonic() < end:
        gc.collect()
        watch.settle_dropped()
        time.sleep(0.05)
    assert len(gate.endings) == 50
    # Nor do they hold connections: the provider is hung up on.
    pool: Any = chat._client._transport._inner._pool  # type: ignore[attr-defined]
    assert not [held for held in pool.connections if not held.is_idle()]


class RenewingGate(ScriptedGate):
    """Its leases last a second."""

    def __init__(self) -> None:
        super().__init__()
        self.renewed: list[float] = []

    def admit(self, ask: Ask) -> Any:
        self.asks.append(ask)
        return Admitted("1", ask, lease_seconds=1.0)

    def renew(self, admitted: Admitted, seconds: float) -> None:
        self.renewed.append(seconds)


@pytest.mark.parametrize(
    "answer",
    [
        answers.streamed(answers.chat_stream(words=25), pause=0.1),
        answers.streamed(answers.chat_stream(words=4), pause=1.0),
        Answer(200, answers.chat().body, after=2.5),
    ],
    ids=["long stream", "silence in a stream", "silence before the answer"],
)
def test_a_long_call_renews_its_lease(provider: Server, answer: Answer) -> None:
    gate = RenewingGate()
    provider.answer = lambda asked: answer
    http = openai.DefaultHttpxClient(transport=BudgetTransport("claims", gate=gate))
    with openai.OpenAI(api_key="k", base_url=provider.url, http_client=http) as client:
        if answer.chunks is None:
            client.chat.completions.create(**CHAT)
        else:
            for _ in client.chat.completions.create(**CHAT, stream=True):
                pass
    assert len(gate.renewed) >= 2
    assert len(gate.endings) == 1
