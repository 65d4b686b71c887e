"""What a stream brings and reports, seen as it passes."""

import json
from typing import Any

from budget.client.call import Call
from budget.client.content import size
from budget.client.sse import Event, EventReader
from budget.client.usage import used_in
from budget.providers.tokens import Tokens

DONE = b"[DONE]"
ENDS = {"response.completed", "response.incomplete", "response.failed", "message_stop"}
"""Events after which nothing comes; OpenAI's older APIs say [DONE] instead."""
ERRORS = {"error", "response.failed"}
WRITTEN = (
    "content", "refusal", "reasoning", "reasoning_content", "text", "thinking",
    "name", "arguments", "partial_json",
)  # fmt: skip
"""Where in a piece of an answer the model's own words stand."""
NESTED = ("tool_calls", "function_call", "function", "delta", "choices")
"""Where such pieces stand in one another."""
DEPTH = 5
MADE_MEDIA = "response.audio.delta"


class StreamMeter:
    """Reads along in the answer of one streamed call. Never raises; not thread-safe."""

    def __init__(self, call: Call) -> None:
        self._api = call.api
        self._reader = EventReader()
        self._counts: dict[str, Any] = {}
        self.produced_bytes = 0
        """UTF-8 bytes of text, reasoning and arguments of tools that have come so far."""
        self.completed = False
        """Whether it came to its proper end."""
        self.failed = False
        """Whether it told of an error."""
        self.error = b""
        """The error, as the body of an answer would have it."""
        self.error_kind = ""

    def feed(self, chunk: bytes) -> None:
        """The next bytes of the stream, split anywhere."""
        for event in self._reader.feed(chunk):
            self._take(event)

    def used(self) -> Tokens | None:
        """What the stream reported last; None if nothing, or nonsense.

        Unless it is `completed`, more may have been produced since.
        """
        return used_in(self._api, {"usage": self._counts})

    def _take(self, event: Event) -> None:
        if event.data is not None and event.data.strip() == DONE:
            self.completed = True
            return
        said = _read(event.data)
        kind = said.get("type")
        kind = kind if isinstance(kind, str) else event.name
        self.completed |= kind in ENDS
        if kind in ERRORS or said.get("error"):
            self._take_error(said)
        self._count(said)
        if self._api == "responses":
            delta = said.get("delta")
            if kind != MADE_MEDIA and isinstance(delta, str):
                self.produced_bytes += size(delta)
        else:
            self.produced_bytes += _written(said)

    def _take_error(self, said: dict[str, Any]) -> None:
        response = said.get("response")
        error = said.get("error") or (isinstance(response, dict) and response.get("error")) or said
        self.failed, self.error = True, json.dumps({"error": error}).encode()
        if isinstance(error, dict):
            self.error_kind = str(error.get("code") or error.get("type") or "")

    def _count(self, said: dict[str, Any]) -> None:
        """The latest counts hold: all of them are of the stream so far."""
        for part in (said, said.get("response"), said.get("message")):
            counts = part.get("usage") if isinstance(part, dict) else None
            if isinstance(counts, dict):
                self._counts |= {k: v for k, v in counts.items() if v is not None}


def _read(data: bytes | None) -> dict[str, Any]:
    try:
        said = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _written(piece: Any, depth: int = DEPTH) -> int:
    """The bytes of the model's own words in a piece of an answer."""
    if isinstance(piece, list):
        return sum(_written(part, depth) for part in piece if isinstance(part, dict))
    if not isinstance(piece, dict) or not depth:
        return 0
    own = sum(size(text) for name in WRITTEN if isinstance(text := piece.get(name), str))
    return own + sum(_written(piece.get(name), depth - 1) for name in NESTED)
