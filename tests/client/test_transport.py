"""The official SDKs on our transport: every attempt is admitted, and settled at what it used."""

import gzip
import inspect
import json
import threading
import time
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest

from budget.client import BudgetTransport, workload
from budget.client.httpx import BudgetTransport as OlderTransport
from budget.client.testing import ScriptedGate
from budget.client.verdict import Ending
from budget.providers import Tokens
from tests.client import answers
from tests.client.servers import Answer, Server

MESSAGES: Any = [{"role": "user", "content": "Is water damage covered? " * 20}]
CHAT: dict[str, Any] = {"model": "gpt-5-mini", "messages": MESSAGES}
CLAUDE: dict[str, Any] = {"model": "claude-sonnet-5", "messages": MESSAGES, "max_tokens": 100}


def ending(gate: ScriptedGate) -> Ending:
    """That of the one call there was."""
    (only,) = gate.endings
    return only[1]


def test_a_call_is_asked_for_with_its_tags_and_settled_at_its_usage(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.chat()
    with workload("adjuster", deadline=2.0, tenant="north"):
        frame = inspect.currentframe()
        assert frame is not None
        line = frame.f_lineno + 1
        answer = chat.chat.completions.create(**CHAT, max_tokens=64)
    assert answer.choices[0].message.content == "Covered."
    (ask,) = gate.asks
    assert (ask.pool, ask.workload_class, ask.tags) == ("claims", "adjuster", {"tenant": "north"})
    assert 1500 < (ask.deadline_ms or 0) <= 2000
    assert ask.source.startswith(f"tests/client/test_transport.py:{line} test_a_call_is_asked_for")
    assert ask.output_tokens == 64
    assert 60 < ask.input_tokens < 300
    assert ending(gate) == Ending("succeeded", Tokens(42, 7, 10))


def test_an_untagged_call_is_asked_for_as_such(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.chat()
    chat.chat.completions.create(**CHAT)
    (ask,) = gate.asks
    assert ask.workload_class is None
    assert ask.deadline_ms is None
    assert "test_an_untagged_call" in ask.source


@pytest.mark.parametrize("library", ["openai", "anthropic"])
def test_a_shed_call_is_the_sdks_own_error_after_one_attempt_and_never_leaves(
    gate: ScriptedGate,
    provider: Server,
    chat: openai.OpenAI,
    claude: anthropic.Anthropic,
    library: str,
) -> None:
    gate.shed("floor_protected", retry_after=7.25)
    calls = {
        "openai": lambda: chat.chat.completions.create(**CHAT),
        "anthropic": lambda: claude.messages.create(**CLAUDE),
    }
    with pytest.raises((openai.RateLimitError, anthropic.RateLimitError)) as refused:
        calls[library]()
    response = refused.value.response
    assert response.headers["retry-after"] == "8"
    assert response.headers["retry-after-ms"] == "7250"
    assert response.headers["budget-reason"] == "floor_protected"
    assert "Shed by a script" in str(refused.value)
    assert len(gate.asks) == 1
    assert provider.asked == []
    assert gate.endings == []


def test_openais_error_says_the_reason_as_its_code(gate: ScriptedGate, chat: openai.OpenAI) -> None:
    gate.shed("headroom", retry_after=None)
    with pytest.raises(openai.RateLimitError) as refused:
        chat.chat.completions.create(**CHAT)
    assert refused.value.code == "headroom"
    assert "retry-after" not in refused.value.response.headers


def test_a_wrong_key_of_the_budget_is_told_apart_from_a_wrong_key_of_the_provider(
    gate: ScriptedGate, chat: openai.OpenAI
) -> None:
    gate.deny("Token Budget refused to decide: this key may not use the class.")
    with pytest.raises(openai.PermissionDeniedError, match="Token Budget"):
        chat.chat.completions.create(**CHAT)


def test_a_refused_call_waits_if_its_moment_lies_before_its_deadline(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.chat()
    gate.shed(retry_after=0.3, times=2)
    began = time.monotonic()
    with workload("adjuster", deadline=5.0):
        chat.chat.completions.create(**CHAT)
    assert 0.6 <= time.monotonic() - began < 4
    first, second, third = gate.asks
    # The same question, so that it keeps its place.
    assert first == second == third


def test_a_call_after_its_deadline_isnt_made(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    with (
        workload("adjuster", deadline=-1.0),
        pytest.raises(openai.RateLimitError, match="was over before") as refused,
    ):
        chat.chat.completions.create(**CHAT)
    assert refused.value.code == "deadline_unmeetable"
    assert (gate.asks, provider.asked) == ([], [])


def test_a_transport_of_the_other_library_says_which_one_to_take(
    gate: ScriptedGate, provider: Server
) -> None:
    with httpx.Client(transport=BudgetTransport("claims", gate=gate)) as older:
        answer = older.post(f"{provider.url}/v1/chat/completions", json=CHAT)
    assert answer.status_code == 400
    assert "import it from budget.client.httpx" in answer.json()["error"]["message"]
    http = openai.DefaultHttpxClient(transport=OlderTransport("claims", gate=gate))
    with (
        openai.OpenAI(api_key="k", base_url=provider.url, http_client=http) as client,
        pytest.raises(openai.BadRequestError, match=r"import it from budget\.client"),
    ):
        client.chat.completions.create(**CHAT)
    assert gate.asks == []


@pytest.mark.parametrize("deadline", [0.2, None])
def test_it_doesnt_wait_beyond_the_deadline_or_without_one(
    gate: ScriptedGate, chat: openai.OpenAI, deadline: float | None
) -> None:
    gate.shed(retry_after=1.0)
    began = time.monotonic()
    with workload("adjuster", deadline=deadline), pytest.raises(openai.RateLimitError):
        chat.chat.completions.create(**CHAT)
    assert time.monotonic() - began < 0.9
    assert len(gate.asks) == 1


def test_waiting_can_be_switched_off(gate: ScriptedGate, provider: Server) -> None:
    http = openai.DefaultHttpxClient(transport=BudgetTransport("claims", gate=gate, wait=False))
    gate.shed(retry_after=0.01)
    with (
        openai.OpenAI(api_key="k", base_url=provider.url, http_client=http) as client,
        workload("adjuster", deadline=5.0),
        pytest.raises(openai.RateLimitError),
    ):
        client.chat.completions.create(**CHAT)


def test_each_of_the_sdks_retries_is_accounted_for(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    script = [answers.error(500), answers.error(429, **{"retry-after-ms": "10"}), answers.chat()]
    provider.answer = lambda asked: script.pop(0)
    chat.with_options(max_retries=3).chat.completions.create(**CHAT)
    assert len({ask.key for ask in gate.asks}) == 3
    outcomes = [(end.outcome, end.used.output) for _, end in gate.endings]
    assert outcomes == [("failed", 0), ("rate_limited", 0), ("succeeded", 7)]
    # What failed there was counted there.
    assert gate.endings[0][1].used.input == gate.asks[0].input_tokens
    assert [standing.refusal for standing in gate.standings] == ["busy"]


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": -1}, {"prompt_tokens": "x"}, [], 5])
def test_without_usage_that_makes_sense_the_estimate_stands(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI, usage: Any
) -> None:
    said = answers.chat(usage=usage)
    provider.answer = lambda asked: said
    chat.with_raw_response.chat.completions.create(**CHAT, max_tokens=33)
    (ask,) = gate.asks
    assert ending(gate) == Ending("succeeded", Tokens(ask.input_tokens, 33))


def test_a_compressed_answer_is_read_all_the_same(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    packed = gzip.compress(json.dumps(answers.chat().body).encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    provider.answer = lambda asked: Answer(200, packed, headers)
    answer = chat.chat.completions.create(**CHAT)
    assert answer.usage
    assert ending(gate).used == Tokens(42, 7, 10)


def test_a_refused_request_is_charged_nothing(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.error(400, "invalid_request_error")
    with pytest.raises(openai.BadRequestError):
        chat.chat.completions.create(**CHAT)
    assert ending(gate) == Ending("failed", Tokens(0, 0))


@pytest.mark.parametrize(
    ("status", "outcome", "share"),
    [(429, "rate_limited", 0), (400, "failed", 0), (500, "failed", 1)],
)
def test_an_error_whose_body_is_cut_is_that_error_all_the_same(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI, status: int, outcome: str, share: int
) -> None:
    cut = Answer(status, b"", chunks=[b'{"error": {"mess'], hang_up=True)
    provider.answer = lambda asked: cut
    with pytest.raises(openai.APIError):
        chat.with_options(max_retries=0).chat.completions.create(**CHAT, max_tokens=99)
    (ask,) = gate.asks
    assert ending(gate) == Ending(outcome, Tokens(share * ask.input_tokens, 0))


def test_a_call_that_never_left_is_given_back(gate: ScriptedGate, provider: Server) -> None:
    http = openai.DefaultHttpxClient(transport=BudgetTransport("claims", gate=gate))
    address = "http://127.0.0.1:9/v1"
    with (
        openai.OpenAI(api_key="k", base_url=address, http_client=http, max_retries=0) as client,
        pytest.raises(openai.APIConnectionError),
    ):
        client.chat.completions.create(**CHAT)
    assert ending(gate).outcome == "cancelled"


def test_a_request_that_cant_be_sent_at_all_is_given_back(
    gate: ScriptedGate, provider: Server
) -> None:
    transport = BudgetTransport("claims", gate=gate)
    request = httpx2.Request(
        "POST",
        f"{provider.url}/v1/chat/completions",
        json=CHAT,
        headers={"Authorization": "Bearer k\n"},
    )
    with pytest.raises(httpx2.LocalProtocolError):
        transport.handle_request(request)
    assert provider.asked == []
    assert ending(gate).outcome == "cancelled"
    transport.close()


@pytest.mark.parametrize("fault", [Answer(hang_up=True), Answer(200, {}, after=1.0)])
def test_a_call_that_broke_off_unanswered_counts_as_estimated(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI, fault: Answer
) -> None:
    provider.answer = lambda asked: fault
    with pytest.raises(openai.APIConnectionError):
        chat.with_options(max_retries=0, timeout=0.4).chat.completions.create(**CHAT, max_tokens=9)
    (ask,) = gate.asks
    assert ending(gate) == Ending("failed", Tokens(ask.input_tokens, 9))


def test_an_embedding_is_charged_its_input(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.embeddings(12)
    chat.embeddings.create(model="text-embedding-3-small", input=["water damage"] * 50)
    (ask,) = gate.asks
    assert ask.input_tokens > 50
    assert ask.output_tokens == 0
    assert ending(gate).used == Tokens(12, 0)


def test_the_responses_api(gate: ScriptedGate, provider: Server, chat: openai.OpenAI) -> None:
    provider.answer = lambda asked: answers.response()
    chat.responses.create(model="gpt-5-mini", input="Is it covered?", max_output_tokens=50)
    assert gate.asks[0].output_tokens == 50
    assert ending(gate).used == Tokens(30, 6, 4)


def test_anthropics_cache_reads_are_told_apart(
    gate: ScriptedGate, provider: Server, claude: anthropic.Anthropic
) -> None:
    provider.answer = lambda asked: answers.message(
        cache_read_input_tokens=100, cache_creation_input_tokens=30
    )
    claude.messages.create(**CLAUDE)
    assert ending(gate).used == Tokens(150, 9, 100)


def test_what_isnt_a_call_of_a_model_passes_unasked(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: Answer(200, {"object": "list", "data": []})
    chat.models.list()
    assert gate.asks == []


def test_an_upload_isnt_read_into_memory(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    transport = BudgetTransport("claims", gate=gate)
    body = iter([b"part one, ", b"part two"])
    request = httpx2.Request(
        "POST", f"{provider.url}/v1/files", content=body, headers={"Content-Length": "18"}
    )
    transport.handle_request(request).read()
    assert gate.asks == []
    assert provider.asked[0].body == b"part one, part two"
    with pytest.raises(httpx2.RequestNotRead):
        _ = request.content
    transport.close()


def test_the_pool_may_depend_on_the_model(provider: Server, gate: ScriptedGate) -> None:
    provider.answer = lambda asked: answers.chat()
    transport = BudgetTransport(lambda model: f"pool-{model}", gate=gate)
    http = openai.DefaultHttpxClient(transport=transport)
    with openai.OpenAI(api_key="k", base_url=provider.url, http_client=http) as client:
        client.chat.completions.create(**CHAT)
    assert gate.asks[0].pool == "pool-gpt-5-mini"


def test_a_large_answer_of_embeddings_is_charged_what_it_reports_at_its_end(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    body = answers.embeddings(12).body
    body["data"] = [
        {"object": "embedding", "index": n, "embedding": [0.5] * 500} for n in range(50)
    ]
    provider.answer = lambda asked: Answer(200, body)
    chat.embeddings.create(model="text-embedding-3-small", input=["x"] * 50)
    assert ending(gate) == Ending("succeeded", Tokens(12, 0))


def test_as_many_calls_go_at_once_as_without_it(gate: ScriptedGate) -> None:
    own: Any = BudgetTransport("claims", gate=gate)._inner
    limits = openai.DEFAULT_CONNECTION_LIMITS
    assert own._pool._max_connections == limits.max_connections
    assert own._pool._max_keepalive_connections == limits.max_keepalive_connections


def test_many_threads_share_one_client(
    gate: ScriptedGate, provider: Server, chat: openai.OpenAI
) -> None:
    provider.answer = lambda asked: answers.chat()

    def call(n: int) -> None:
        with workload("adjuster", number=n):
            for _ in range(5):
                chat.chat.completions.create(**CHAT)

    threads = [threading.Thread(target=call, args=[n]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(gate.endings) == 40
    for n in range(8):
        assert sum(ask.tags["number"] == str(n) for ask in gate.asks) == 5
