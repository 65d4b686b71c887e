"""What a request is taken to ask for."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.client.call import Call, api_of, call_of
from budget.client.content import ANTHROPIC_TOOLS, PER_CALL, PER_MESSAGE
from tests.client.test_media import b64, png

FRAME = PER_CALL + PER_MESSAGE
CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
HELLO = [{"role": "user", "content": "Hello"}]


def read(path: str, body: Mapping[str, Any]) -> Call:
    api = api_of("POST", path)
    assert api is not None
    return call_of(api, path, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("path", "api"),
    [
        (CHAT, "chat"),
        ("/chat/completions/", "chat"),
        ("/gateway/openai/v1/chat/completions?beta=true", "chat"),
        ("/openai/deployments/gpt/chat/completions?api-version=2024-10-21", "chat"),
        ("/v1/completions", "completions"),
        (RESPONSES, "responses"),
        ("/v1/responses/compact", "responses"),
        (MESSAGES, "messages"),
        ("/anthropic/v1/messages?beta=true", "messages"),
        ("/v1/embeddings", "embeddings"),
    ],
)
def test_metered_paths(path: str, api: str) -> None:
    assert read(path, {}).api == api
    assert api_of("GET", path) is None


@pytest.mark.parametrize(
    "path",
    [
        "/v1/files",
        "/v1/batches",
        "/v1/messages/batches",
        "/v1/messages/count_tokens",
        "/v1/responses/input_tokens",
        "/v1/responses/resp_1/cancel",
        "/v1/chat/completions/chatcmpl-1",
        "/v1/threads/thread_1/messages",
        "/v1/models",
        "/v1/images/generations",
        "/",
        "",
    ],
)
def test_paths_that_are_not_metered(path: str) -> None:
    assert api_of("POST", path) is None


def test_the_model_is_in_the_body_or_in_azures_path() -> None:
    path = "/openai/deployments/claims/chat/completions"
    assert read(path, {"messages": HELLO}).model == "claims"
    assert read(path, {"model": "gpt-4o"}).model == "gpt-4o"
    assert read(CHAT, {"model": 7}).model == ""
    assert len(read(CHAT, {"model": 999 * "m"}).model) == 200


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"\xff\xfe", b'"text"', b"[" * 100_000])
def test_what_cannot_be_read_is_metered_as_text(body: bytes) -> None:
    call = call_of("chat", CHAT, body)
    assert call == Call("chat", "", len(body), 0, None, 1)


def test_a_request_nested_too_deeply_is_metered_as_text() -> None:
    body = b'{"messages":' + b"[" * 990 + b"]" * 990 + b"}"
    call = call_of("chat", CHAT, body)
    assert call.text_bytes == len(body)


@pytest.mark.parametrize(
    ("fields", "cap"),
    [
        ({}, None),
        ({"max_tokens": 1, "max_completion_tokens": 10_000}, 10_000),
        ({"max_tokens": 10_000, "max_output_tokens": 1}, 10_000),
        ({"max_output_tokens": 300}, 300),
        ({"max_tokens": None, "max_completion_tokens": 7}, 7),
        ({"max_tokens": 7.0}, 7),
        ({"max_tokens": 0}, None),
        ({"max_tokens": -5}, None),
        ({"max_tokens": True}, None),
        ({"max_tokens": "900"}, None),
        ({"max_tokens": float("nan")}, None),
        ({"max_tokens": float("inf")}, 1_000_000_000),
        ({"max_tokens": 10**30}, 1_000_000_000),
    ],
)
def test_the_larger_cap_counts(fields: dict[str, Any], cap: int | None) -> None:
    assert read(CHAT, {"messages": HELLO, **fields}).output_cap == cap


@pytest.mark.parametrize(
    ("fields", "choices"),
    [({}, 1), ({"n": 3}, 3), ({"n": 2, "best_of": 5}, 5), ({"n": 0}, 1), ({"n": 10**9}, 1000)],
)
def test_choices(fields: dict[str, Any], choices: int) -> None:
    assert read("/v1/completions", {"prompt": "x", **fields}).choices == choices


def test_text_is_counted_in_utf_8() -> None:
    call = read(CHAT, {"messages": [{"role": "user", "content": "Grüße"}]})
    assert (call.text_bytes, call.fixed_input_tokens) == (7, FRAME)
    assert read(CHAT, {"messages": [{"role": "user", "content": "\ud83d"}]}).text_bytes == 3


def test_all_text_of_a_chat() -> None:
    called = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    messages = [
        {"role": "system", "content": "12"},
        {"role": "user", "content": [{"type": "text", "text": "345"}]},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "call_1", "content": "6789"},
    ]
    call = read(CHAT, {"messages": messages, "tools": tools, "response_format": schema})
    written = sum(len(json.dumps(part, separators=(",", ":"))) for part in (tools, schema))
    assert call.text_bytes == 9 + len("look{}") + written
    assert call.fixed_input_tokens == PER_CALL + 4 * PER_MESSAGE


def test_all_text_of_a_message() -> None:
    used = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": ["x", 1]}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [text("6789")]}
    body = {
        "system": [{**text("12"), "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "345"},
            {"role": "assistant", "content": [used]},
            {"role": "user", "content": [result]},
        ],
        "tools": [{"name": "look"}],
        "max_tokens": 100,
    }
    call = read(MESSAGES, body)
    assert call.text_bytes == 9 + len("look") + len('{"at":["x",1]}') + len('[{"name":"look"}]')
    assert call.fixed_input_tokens == PER_CALL + 3 * PER_MESSAGE + ANTHROPIC_TOOLS


def test_all_text_of_a_response() -> None:
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "345"}]},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "6789"},
    ]
    call = read(RESPONSES, {"instructions": "12", "input": items, "previous_response_id": "r"})
    assert call.text_bytes == 9 + len("look{}")
    assert read(RESPONSES, {"input": "Hello"}).text_bytes == 5


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


IMAGE = b64(png(512, 512))
PDF = b64(b"%PDF /Type /Page ")


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE}"}}, 255),
        ({"type": "image_url", "image_url": {"url": f"data:,{IMAGE}", "detail": "low"}}, 85),
        ({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}, 1445),
        ({"type": "input_audio", "input_audio": {"data": b64(bytes(7998)), "format": "mp3"}}, 20),
        ({"type": "file", "file": {"file_data": PDF, "filename": "a.pdf"}}, 3000),
        ({"type": "file", "file": {"file_id": "file-1"}}, 3000),
    ],
)
def test_media_of_a_chat(part: dict[str, Any], tokens: int) -> None:
    call = read(CHAT, {"messages": [{"role": "user", "content": [part, text("12")]}]})
    assert (call.text_bytes, call.fixed_input_tokens) == (2, FRAME + tokens)


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        ({"type": "input_image", "image_url": f"data:image/png;base64,{IMAGE}"}, 255),
        ({"type": "input_image", "image_url": f"data:,{IMAGE}", "detail": "low"}, 85),
        ({"type": "input_image", "file_id": "file-1"}, 1445),
        ({"type": "input_file", "file_data": f"data:application/pdf;base64,{PDF}"}, 3000),
        ({"type": "input_file", "file_url": "https://example.com/a.pdf"}, 3000),
    ],
)
def test_media_of_a_response(part: dict[str, Any], tokens: int) -> None:
    call = read(RESPONSES, {"input": [{"role": "user", "content": [part]}]})
    assert (call.text_bytes, call.fixed_input_tokens) == (0, FRAME + tokens)


@pytest.mark.parametrize(
    ("kind", "source", "tokens"),
    [
        ("image", {"type": "base64", "media_type": "image/png", "data": IMAGE}, 350),
        ("image", {"type": "url", "url": "https://example.com/a.png"}, 1600),
        ("image", {"type": "file", "file_id": "file_1"}, 1600),
        ("document", {"type": "base64", "media_type": "application/pdf", "data": PDF}, 3000),
        ("document", {"type": "url", "url": "https://example.com/a.pdf"}, 3000),
    ],
)
def test_media_of_a_message(kind: str, source: dict[str, Any], tokens: int) -> None:
    part = {"type": kind, "source": source}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [part]}
    for content in (part, result):
        call = read(MESSAGES, {"messages": [{"role": "user", "content": [content]}]})
        assert (call.text_bytes, call.fixed_input_tokens) == (0, FRAME + tokens)


def test_documents_of_text_are_text() -> None:
    plain = {"type": "text", "media_type": "text/plain", "data": "12345"}
    parts = {"type": "content", "content": [text("678")]}
    content = [{"type": "document", "source": source, "title": "9"} for source in (plain, parts)]
    call = read(MESSAGES, {"messages": [{"role": "user", "content": content}]})
    assert (call.text_bytes, call.fixed_input_tokens) == (10, FRAME)


@pytest.mark.parametrize(
    ("given_input", "text_bytes", "tokens"),
    [("Hello", 5, 0), (["Hello", "you"], 8, 0), ([1, 2, 3], 0, 3), ([[1, 2], [3]], 0, 3)],
)
def test_embeddings_count_what_they_are_given(
    given_input: Any, text_bytes: int, tokens: int
) -> None:
    call = read("/v1/embeddings", {"model": "e", "input": given_input, "stream": True})
    assert (call.text_bytes, call.fixed_input_tokens) == (text_bytes, tokens)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "content", "source", "data", "image_url", "file", "input", "url"]
            ),
            inner
            | st.sampled_from(["image", "document", "image_url", "input_audio", "file", "base64"]),
            max_size=4,
        )
    ),
)


@given(
    path=st.sampled_from([CHAT, MESSAGES, RESPONSES, "/v1/embeddings", "/v1/completions"]),
    fields=st.dictionaries(
        st.sampled_from(
            ["messages", "input", "prompt", "tools", "system", "n", "max_tokens", "stream_options"]
        ),
        anything,
    ),
)
def test_no_request_is_too_odd(path: str, fields: dict[str, Any]) -> None:
    call = read(path, fields)
    assert call.text_bytes >= 0
    assert call.fixed_input_tokens >= 0
