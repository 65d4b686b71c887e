"""An answer as it comes: its head, and what can be told from its body so far."""

import zlib
from collections.abc import Mapping
from typing import Any

from budget.client.call import Call
from budget.client.stream import StreamMeter
from budget.client.usage import TAIL, used_of
from budget.providers import Tokens
from budget.providers.headers import standing_of
from budget.providers.standing import Standing

MOST_READ = 16_000_000
"""Bytes of an answer that are kept until its usage is read; of a larger one nothing is read."""
MOST_OF_ERROR = 64_000
OK = range(200, 300)
PACKED = frozenset({"gzip", "deflate"})
PLAIN = frozenset({"", "identity"})
STATUSES = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
}
"""The status that an error in the middle of a stream would have had before it."""


class Answer:
    """Reads along. Never raises; not thread-safe."""

    def __init__(self, call: Call, status: int, headers: Mapping[str, str]) -> None:
        self._call, self._headers = call, headers
        self.status = status
        self._body = bytearray()
        encoding = headers.get("content-encoding", "").lower()
        self._inflate: Any = zlib.decompressobj(47) if encoding in PACKED else None
        self._readable = encoding in PACKED | PLAIN
        streamed = self.is_ok and "event-stream" in headers.get("content-type", "")
        self._meter = StreamMeter(call) if streamed else None

    @property
    def is_ok(self) -> bool:
        """Whether the provider does what it was asked for."""
        return self.status in OK

    @property
    def wants_error(self) -> bool:
        """Whether it is an error of which more should be read."""
        return not self.is_ok and len(self._body) < MOST_OF_ERROR

    @property
    def is_complete(self) -> bool:
        """Whether a stream came to its proper end."""
        return self._meter is not None and self._meter.completed

    @property
    def tells_error(self) -> bool:
        """Whether a stream told of an error in its middle."""
        return self._meter is not None and self._meter.failed

    @property
    def is_cut(self) -> bool:
        """Whether a stream, of which nothing more comes, had more to come, or told of an error."""
        if self._meter is None or not self._readable:
            return False
        return self.tells_error or not self._meter.completed

    def feed(self, chunk: bytes) -> None:
        """The next bytes of its body, as they were sent."""
        chunk = self._unpacked(chunk)
        if self._meter is not None:
            self._meter.feed(chunk)
        elif self._call.api == "embeddings" and self.is_ok:
            # A long list of numbers, and what they cost at its end.
            self._body = (self._body + chunk)[-TAIL:]
        elif len(self._body) <= MOST_READ:
            self._body += chunk

    def reported(self) -> Tokens | None:
        """What it says it used; None if nothing, nonsense or nothing readable."""
        if not self._readable:
            return None
        if self._meter is not None:
            return self._meter.used()
        return used_of(self._call, bytes(self._body)) if len(self._body) <= MOST_READ else None

    def produced_bytes(self) -> int | None:
        """Bytes of the model's own words in a stream; None if they can't be told."""
        return self._meter.produced_bytes if self._meter is not None and self._readable else None

    def standing(self) -> Standing:
        """What it says of the provider's limits."""
        speaks = "anthropic" if self._call.api == "messages" else "openai"
        if self._meter is None or not self._meter.failed:
            body = b"" if self.is_ok else bytes(self._body[:MOST_OF_ERROR])
            return standing_of(speaks, self.status, self._headers, body)
        status = STATUSES.get(self._meter.error_kind, self.status)
        return standing_of(speaks, status, {}, self._meter.error)

    def forget(self) -> None:
        """Its body isn't needed any more."""
        self._body = bytearray()

    def _unpacked(self, chunk: bytes) -> bytes:
        if self._inflate is None or not self._readable:
            return chunk
        try:
            plain: bytes = self._inflate.decompress(chunk, MOST_READ)
        except zlib.error:
            self._readable = False
            return b""
        self._readable = not self._inflate.unconsumed_tail
        return plain
