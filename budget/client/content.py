"""What of a request reaches the model: its text, and what else counts as input."""

import json
from collections.abc import Mapping
from typing import Any

from budget.client import media

PER_MESSAGE = 4
PER_CALL = 3
"""The frame around each message and before the answer, as OpenAI's cookbook counts it ("How to
count tokens with tiktoken"); Anthropic publishes none and is close to it."""
ANTHROPIC_TOOLS = 346
"""The system prompt that comes with tools: https://platform.claude.com/docs, "Tool use"."""

READ = {
    "chat": ("messages", "tools", "functions", "response_format", "prediction"),
    "completions": ("prompt", "suffix"),
    "responses": ("instructions", "input", "tools", "text", "prompt"),
    "messages": ("system", "messages", "tools", "output_config", "output_format"),
    "embeddings": ("input",),
}
"""The fields of each API's requests that the model gets to see."""
WRITTEN_OUT = {"tools", "functions", "response_format", "text", "output_config", "output_format"}
"""Those of them that it sees as JSON."""
UNSEEN = {
    "type", "role", "id", "call_id", "tool_call_id", "tool_use_id", "item_id", "status", "detail",
    "cache_control", "citations", "signature", "media_type", "filename", "file_id", "logprobs",
}  # fmt: skip
"""What stands beside the content of messages, for the API alone."""


class Content:
    """Adds up what the model is given. Never raises, whatever the request is made of."""

    def __init__(self, api: str, model: str) -> None:
        self.api = api
        self.model = model
        self.texts: list[str] = []
        self.fixed_tokens = 0

    @property
    def text_bytes(self) -> int:
        """UTF-8 bytes of all text."""
        return sum(size(text) for text in self.texts)

    def add_request(self, body: Mapping[str, Any]) -> None:
        """Take in all of a request that the model sees."""
        for name in READ[self.api]:
            value = body.get(name)
            if value and name in WRITTEN_OUT:
                self._write_out(value)
            elif value:
                self._add(value)
        if self.api != "embeddings":
            self.fixed_tokens += PER_CALL + PER_MESSAGE * _messages(body)
        if self.api == "messages" and body.get("tools"):
            self.fixed_tokens += ANTHROPIC_TOOLS

    def _add(self, value: Any) -> None:
        if isinstance(value, str):
            self.texts.append(value)
        elif isinstance(value, bool) or value is None:
            return
        elif isinstance(value, int):
            # Text that was made into tokens before.
            self.fixed_tokens += 1
        elif isinstance(value, list):
            for part in value:
                self._add(part)
        elif isinstance(value, dict):
            self._add_part(value)

    def _add_part(self, part: dict[str, Any]) -> None:
        kind = str(part.get("type", ""))
        if kind in ("image", "document"):
            self._add_source(kind, part)
        elif kind in ("image_url", "input_image", "computer_screenshot"):
            self._add_image(part)
        elif kind == "input_audio":
            self.fixed_tokens += media.audio(_text(_inner(part, "input_audio"), "data"))
        elif kind in ("file", "input_file"):
            self._add_document(_text(_inner(part, "file"), "file_data"))
        else:
            self._add_fields(part)

    def _add_fields(self, part: dict[str, Any]) -> None:
        for name, value in part.items():
            if name == "input" and isinstance(value, dict):
                # What a tool was called with.
                self._write_out(value)
            elif name not in UNSEEN:
                self._add(value)

    def _add_source(self, kind: str, part: dict[str, Any]) -> None:
        """An image or a document as Anthropic takes it."""
        source = _inner(part, "source")
        data = _text(source, "data")
        if source.get("type") in ("text", "content"):
            self._add([data, source.get("content")])
        elif kind == "image":
            self.fixed_tokens += media.anthropic_image(data)
        else:
            self._add_document(data)
        self._add([part.get("title"), part.get("context")])

    def _add_image(self, part: dict[str, Any]) -> None:
        """An image as OpenAI takes it: an address, which may hold all of it."""
        image = part.get("image_url")
        outer = image if isinstance(image, dict) else part
        url = _text(outer, "url" if outer is image else "image_url")
        data = url if url and url.startswith("data:") else None
        self.fixed_tokens += media.openai_image(data, self.model, str(outer.get("detail")))

    def _add_document(self, data: str | None) -> None:
        self.fixed_tokens += media.document(data)

    def _write_out(self, value: Any) -> None:
        self.texts.append(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def size(text: str) -> int:
    """Its UTF-8 bytes; halves of characters count, too."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _messages(body: Mapping[str, Any]) -> int:
    messages = body.get("messages", body.get("input"))
    return len(messages) if isinstance(messages, list) else 1


def _inner(part: dict[str, Any], name: str) -> dict[str, Any]:
    """What is within, or the part itself where an API doesn't wrap it."""
    inner = part.get(name)
    return inner if isinstance(inner, dict) else part


def _text(part: dict[str, Any], name: str) -> str | None:
    value = part.get(name)
    return value if isinstance(value, str) else None
