"""One attempt at a call: from its admission until what it used is known."""

import os
import threading
import time
import zlib
from collections.abc import Mapping
from typing import Any

from budget.client.call import Call
from budget.client.estimator import Estimator
from budget.client.gate import Gate
from budget.client.stream import StreamMeter
from budget.client.usage import used_of
from budget.client.verdict import NOTHING, Admitted, Ending, Outcome
from budget.providers import Tokens
from budget.providers.headers import standing_of

MOST_READ = 16_000_000
"""Bytes of an answer that are kept until its usage is read; a larger one counts as estimated."""
MOST_OF_ERROR = 64_000
OK = range(200, 300)
BUSY = frozenset({429, 529})
FAILING = range(500, 600)


class Exchange:
    """Watches one attempt, and settles it exactly once, however it ends.

    What it settles: the usage the answer reports; where it reports none, the estimated input
    and what was seen of the output; nothing where the provider refused the request.
    """

    def __init__(self, gate: Gate, estimator: Estimator, call: Call, admitted: Admitted) -> None:
        self._gate, self._estimator = gate, estimator
        self._call, self._admitted = call, admitted
        self._once = threading.Lock()
        self._settled = False
        self._process = os.getpid()
        self._status = 0
        self._body = bytearray()
        self._meter: StreamMeter | None = None
        self._inflate: Any = None
        self._headers: Mapping[str, str] = {}
        self._renewed_at = time.monotonic()

    @property
    def is_open(self) -> bool:
        """Whether it is still under way."""
        return not self._settled

    def never_left(self) -> None:
        """It couldn't be sent: all is given back."""
        self._settle("cancelled", NOTHING)

    def broke(self) -> None:
        """It was sent, and broke off: what was used is at least what was seen of it."""
        if not self._status:
            ask = self._admitted.ask
            self._settle("failed", Tokens(ask.input_tokens, ask.output_tokens))
        else:
            self._settle("failed", self._seen())

    def began(self, status: int, headers: Mapping[str, str]) -> None:
        """The answer's head has come."""
        self._status, self._headers = status, headers
        if headers.get("content-encoding", "identity").lower() in ("gzip", "deflate"):
            self._inflate = zlib.decompressobj(47)
        if status in OK and "event-stream" in headers.get("content-type", ""):
            self._meter = StreamMeter(self._call)
        if status in OK:
            self._observe(b"")

    def feed(self, chunk: bytes) -> None:
        """A part of the answer's body has come, as it was sent."""
        self.keep_lease()
        if self._inflate is not None:
            try:
                chunk = self._inflate.decompress(chunk)
            except zlib.error:
                return
        if self._meter is not None:
            self._meter.feed(chunk)
        elif len(self._body) <= MOST_READ:
            self._body += chunk

    def keep_lease(self) -> None:
        """Renew the lease of a call that takes long, once half of it is over."""
        seconds = self._admitted.lease_seconds
        now = time.monotonic()
        if seconds is not None and now > self._renewed_at + seconds / 2:
            self._renewed_at = now
            self._gate.renew(self._admitted, seconds / 2)

    def ended(self) -> None:
        """The whole answer has come."""
        if self._status in OK:
            cut = self._meter is not None and not self._meter.completed
            self._settle("failed" if cut else "succeeded", self._seen())
            return
        self._observe(bytes(self._body[:MOST_OF_ERROR]))
        if self._status in BUSY:
            self._settle("rate_limited", NOTHING)
        elif self._status in FAILING:
            # It arrived, and providers count what failed.
            self._settle("failed", Tokens(self._admitted.ask.input_tokens, 0))
        else:
            self._settle("failed", NOTHING)

    def closed(self) -> None:
        """The caller wants no more of the answer, or has let go of it."""
        if self._settled:
            return
        if not self._status:
            self.broke()
        elif self._status in OK and not (self._meter and self._meter.completed):
            self._settle("failed", self._seen())
        else:
            self.ended()

    def _seen(self) -> Tokens:
        """What the answer reports, or else what can be told from what came of it."""
        if self._meter is not None:
            used = self._meter.used()
            produced = self._estimator.output_of(self._call, self._meter.produced_bytes)
            if used is None:
                return Tokens(self._admitted.ask.input_tokens, produced)
            if self._meter.completed:
                self._learn(used)
                return used
            return used._replace(output=max(used.output, produced))
        used = used_of(self._call, bytes(self._body)) if len(self._body) <= MOST_READ else None
        if used is None:
            ask = self._admitted.ask
            return Tokens(ask.input_tokens, ask.output_tokens)
        self._learn(used)
        return used

    def _learn(self, used: Tokens) -> None:
        self._estimator.learn(self._call, self._admitted.ask.workload_class, used)

    def _observe(self, body: bytes) -> None:
        standing = standing_of(_speaks(self._call), self._status, self._headers, body)
        if standing.says_anything:
            self._gate.observe(self._admitted.ask.pool, standing)

    def _settle(self, outcome: Outcome, used: Tokens) -> None:
        if self._process != os.getpid():
            return  # a forked child has a copy of a call that is its parent's
        with self._once:
            if self._settled:
                return
            self._settled = True
        self._gate.settle(self._admitted, Ending(outcome, used))


def _speaks(call: Call) -> str:
    """Whose headers and errors an answer has; Azure and most gateways speak as OpenAI does."""
    return "anthropic" if call.api == "messages" else "openai"
