"""What providers answer, as their documentation writes it."""

import json
from typing import Any

from tests.client.servers import Answer

SSE = {"Content-Type": "text/event-stream; charset=utf-8"}
USAGE = {
    "prompt_tokens": 42,
    "completion_tokens": 7,
    "total_tokens": 49,
    "prompt_tokens_details": {"cached_tokens": 10},
}


def chat(usage: Any = USAGE, **headers: str) -> Answer:
    message = {"role": "assistant", "content": "Covered."}
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5-mini",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }
    if usage is not None:
        body["usage"] = usage
    return Answer(200, body, headers)


def chat_stream(words: int = 5, usage: Any = None, done: bool = True) -> list[bytes]:
    chunks = [chat_delta({"content": f"word{n} "}) for n in range(words)]
    if usage is not None:
        chunks.append(event({"id": "c", "object": "chat.completion.chunk", "usage": usage}))
    return [*chunks, b"data: [DONE]\n\n"] if done else chunks


def chat_delta(delta: dict[str, Any]) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return event(
        {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "gpt-5-mini",
            "choices": [choice],
        }
    )


def event(body: dict[str, Any], name: str = "") -> bytes:
    body = {"choices": [], "created": 1, "model": "m", **body} if not name else body
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(body)}\n\n".encode()


def embeddings(tokens: int = 12) -> Answer:
    data = [{"object": "embedding", "index": 0, "embedding": [0.1, 0.2]}]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return Answer(200, {"object": "list", "data": data, "model": "e", "usage": usage})


def response(**usage: Any) -> Answer:
    return Answer(200, response_body(**usage))


def response_body(**usage: Any) -> dict[str, Any]:
    text = {"type": "output_text", "text": "Covered.", "annotations": []}
    message = {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "status": "completed",
        "content": [text],
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5-mini",
        "status": "completed",
        "output": [message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 30,
            "input_tokens_details": {"cached_tokens": 4},
            "output_tokens": 6,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 36,
        }
        | usage,
    }


def response_stream() -> list[bytes]:
    delta = {
        "type": "response.output_text.delta",
        "item_id": "m",
        "output_index": 0,
        "content_index": 0,
        "delta": "Covered.",
        "sequence_number": 1,
        "logprobs": [],
    }
    completed = {"type": "response.completed", "response": response_body(), "sequence_number": 2}
    return [
        event(delta, "response.output_text.delta"),
        event(completed, "response.completed"),
    ]


def message(**usage: Any) -> Answer:
    return Answer(200, message_body(**usage))


def message_body(**usage: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [{"type": "text", "text": "Covered."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 20, "output_tokens": 9} | usage,
    }


def message_stream(output_tokens: int = 9, stop: bool = True) -> list[bytes]:
    start = message_body(output_tokens=1, cache_read_input_tokens=5) | {"content": []}
    events = [
        event({"type": "message_start", "message": start}, "message_start"),
        event(
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            },
            "content_block_start",
        ),
        event(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "Covered by the policy."},
            },
            "content_block_delta",
        ),
    ]
    if stop:
        events += [
            event({"type": "content_block_stop", "index": 0}, "content_block_stop"),
            event(
                {
                    "type": "message_delta",
                    "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                    "usage": {"output_tokens": output_tokens},
                },
                "message_delta",
            ),
            event({"type": "message_stop"}, "message_stop"),
        ]
    return events


def error(status: int, kind: str = "rate_limit_exceeded", **headers: str) -> Answer:
    body = {"type": "error", "error": {"type": kind, "code": kind, "message": "No."}}
    return Answer(status, body, headers)


def streamed(chunks: list[bytes], hang_up: bool = False, pause: float = 0.0) -> Answer:
    return Answer(200, b"", dict(SSE), chunks=chunks, hang_up=hang_up, pause=pause)
