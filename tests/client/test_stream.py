"""Reading along in streams: those of llmock, and what no provider should send."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llmock.completion import Completion, ToolCallOut
from llmock.routers import openai_responses
from llmock.streaming import anthropic_events, openai_chat_chunks

from budget.client.call import Api
from budget.client.sse import MOST, EventReader
from budget.client.stream import StreamMeter
from budget.providers import Tokens
from tests.client.test_usage import call

TEXT = "It is covered, née 東京."
ARGUMENTS = '{"claim": "2026-117"}'
TOOL = ToolCallOut("call_1", "look", ARGUMENTS)
PRODUCED = len((TEXT + ARGUMENTS).encode())


def completion(finish: str = "stop") -> Completion:
    return Completion(TEXT, (TOOL,), finish, prompt_tokens=42, completion_tokens=7)


def chat(include_usage: bool = True) -> Iterator[bytes]:
    return openai_chat_chunks(
        completion(), completion_id="c", model="m", include_usage=include_usage
    )


def responses(finish: str = "stop") -> Iterator[bytes]:
    items = openai_responses._output_items(completion(finish))
    return openai_responses._events({}, "resp_1", "m", completion(finish), items)


def messages() -> Iterator[bytes]:
    return anthropic_events(completion(), message_id="msg_1", model="m")


def fed(api: Api, *chunks: bytes) -> StreamMeter:
    meter = StreamMeter(call(api))
    for chunk in chunks:
        meter.feed(chunk)
    return meter


def data(*events: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


STREAMS: list[tuple[Api, bytes]] = [
    ("chat", b"".join(chat())),
    ("responses", b"".join(responses())),
    ("messages", b"".join(messages())),
]


@pytest.mark.parametrize(("api", "stream"), STREAMS)
def test_a_whole_stream(api: Api, stream: bytes) -> None:
    meter = fed(api, stream)
    assert meter.used() == Tokens(42, 7)
    assert (meter.completed, meter.failed) == (True, False)
    named = len(TOOL.name) if api == "chat" else 0
    assert meter.produced_bytes == PRODUCED + named


def test_a_chat_without_usage_still_tells_what_it_produced() -> None:
    meter = fed("chat", *chat(include_usage=False))
    assert meter.used() is None
    assert meter.completed
    assert meter.produced_bytes > PRODUCED


@pytest.mark.parametrize(("api", "stream"), STREAMS)
def test_a_stream_that_is_cut(api: Api, stream: bytes) -> None:
    meter = fed(api, stream[: len(stream) // 2])
    assert not meter.completed
    assert 0 < meter.produced_bytes < PRODUCED
    assert meter.used() == (Tokens(42, 1) if api == "messages" else None)


def test_a_response_that_is_cut_short_by_its_cap_has_ended() -> None:
    stream = b"".join(responses("length")).replace(b"response.completed", b"response.incomplete")
    meter = fed("responses", stream)
    assert (meter.completed, meter.failed) == (True, False)
    assert meter.used() == Tokens(42, 7)


@pytest.mark.parametrize(
    ("api", "stream"),
    [
        ("chat", data({"error": {"message": "overloaded"}})),
        ("chat", b'event: error\ndata: {"message": "overloaded"}\n\n'),
        ("responses", data({"type": "error", "message": "x"})),
        ("responses", data({"type": "response.failed", "response": {"usage": None}})),
        ("messages", data({"type": "error", "error": {"type": "overloaded_error"}})),
    ],
)
def test_a_stream_that_tells_of_an_error(api: Api, stream: bytes) -> None:
    assert fed(api, stream).failed


def test_the_latest_count_of_anthropic_holds() -> None:
    start = {"input_tokens": 40, "cache_read_input_tokens": 30, "output_tokens": 1}
    later = {"output_tokens": 5, "cache_read_input_tokens": None}
    last = {"output_tokens": 9, "input_tokens": 41}
    meter = fed("messages", data({"type": "message_start", "message": {"usage": start}}))
    assert meter.used() == Tokens(70, 1, 30)
    meter.feed(data({"type": "message_delta", "usage": later}))
    assert meter.used() == Tokens(70, 5, 30)
    meter.feed(data({"type": "message_delta", "usage": last}, {"type": "message_stop"}))
    assert meter.used() == Tokens(71, 9, 30)


def test_nonsense_in_the_end_is_no_report() -> None:
    start = {"input_tokens": 40, "output_tokens": 1}
    meter = fed("messages", data({"type": "message_start", "message": {"usage": start}}))
    meter.feed(data({"type": "message_delta", "usage": {"output_tokens": -9}}))
    assert meter.used() is None


def test_reasoning_counts_and_audio_does_not() -> None:
    thought = {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "x"}}
    signed = {"type": "content_block_delta", "delta": {"signature": "abc"}}
    assert fed("messages", data(thought, signed)).produced_bytes == 1
    reason = {"choices": [{"delta": {"reasoning_content": "xy", "role": "assistant"}}]}
    assert fed("chat", data(reason)).produced_bytes == 2
    older = {"choices": [{"text": "xyz", "index": 0}]}
    assert fed("completions", data(older)).produced_bytes == 3
    parts = [{"type": f"response.{kind}.delta", "delta": "1234"} for kind in ("reasoning", "audio")]
    assert fed("responses", data(*parts)).produced_bytes == 4


def test_a_long_line_is_dropped_and_the_rest_is_read() -> None:
    whole = b"data: " + (MOST - 6) * b"x" + b"\n\n"
    longer = b"data: " + (MOST - 5) * b"x" + b"\n\n"
    assert len(EventReader().feed(whole)[0].data or b"") == MOST - 6
    assert EventReader().feed(longer)[0].data is None
    stream = longer + b"".join(chat())
    for size in (len(stream), 65_536):
        chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
        assert fed("chat", *chunks).used() == Tokens(42, 7)


def test_an_end_that_is_too_long_to_read_is_an_end() -> None:
    stream = b"event: response.completed\ndata: " + MOST * b"x" + b"\n\n"
    meter = fed("responses", stream)
    assert meter.completed
    assert meter.used() is None


def test_data_of_many_lines_is_bounded() -> None:
    reader = EventReader()
    for _ in range(3):
        reader.feed(b"data: " + 600_000 * b"x" + b"\n")
    assert reader.feed(b"\n")[0].data is None


def test_lines_comments_and_data_as_the_standard_has_them() -> None:
    stream = b': hi\r\nevent: a\rdata: {"x":\ndata:1}\r\n\r\nid: 7\nretry: 9\n\n: only\n\ndata\n\n'
    assert EventReader().feed(stream) == [("a", b'{"x":\n1}'), ("", b"")]


PIECES = (
    *(b"data: ", b"data:[DONE]", b"event: error", b": note", b"\xff"),
    *(b"\r", b"\n", b"\r\n", b"\n\n"),
    b'{"usage":{"prompt_tokens":1,"completion_tokens":2}}',
    b'{"choices":[{"text":"ab"}]}',
)
NAMES = ("choices", "delta", "usage", "response", "message", "type", "error")
odd = st.sampled_from(PIECES)
streams = st.sampled_from(STREAMS).map(lambda pair: pair[1])


@given(
    api=st.sampled_from(["chat", "completions", "responses", "messages"]),
    stream=st.lists(odd, max_size=30).map(b"".join) | st.binary() | streams,
    cuts=st.lists(st.integers(0, 5000), max_size=40),
    crlf=st.booleans(),
)
def test_any_chunking_gives_the_same(api: Api, stream: bytes, cuts: list[int], crlf: bool) -> None:
    stream = stream.replace(b"\n", b"\r\n") if crlf else stream
    edges = [0, *sorted(cuts), len(stream)]
    chunks = [stream[start:end] for start, end in pairwise(edges)]
    whole, cut = fed(api, stream), fed(api, *chunks)
    assert (whole.used(), whole.produced_bytes) == (cut.used(), cut.produced_bytes)
    assert (whole.completed, whole.failed) == (cut.completed, cut.failed)


def test_single_bytes_give_the_same() -> None:
    for api, stream in STREAMS:
        whole, cut = fed(api, stream), fed(api, *(bytes([byte]) for byte in stream))
        assert (whole.used(), whole.produced_bytes) == (cut.used(), cut.produced_bytes)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(NAMES), inner),
    )
)
def test_no_event_is_too_odd(event: Any) -> None:
    for api in ("chat", "responses", "messages"):
        meter = fed(api, data(event))
        used = meter.used()
        assert used is None or min(used) >= 0
        assert meter.produced_bytes >= 0
