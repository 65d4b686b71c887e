"""A load generator in a process of its own: keep-alive connections that never wait.

It sends the same bytes over and over, and looks at no more of an answer than it must,
so that on a small machine the server stays the one that is measured.
"""

import asyncio
import json
import math
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

WARM_UP_SECONDS = 0.5
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)


@dataclass(frozen=True)
class Load:
    """What to send, over how many connections, for how long."""

    port: int
    path: str
    headers: dict[str, str]
    body: str
    connections: int
    seconds: float

    def run(self) -> "Measured":
        """Loads the server from another process. Raises RuntimeError on any answer but a 201."""
        finished = subprocess.run(
            [sys.executable, "-m", "bench.load"],
            input=json.dumps(asdict(self)),
            capture_output=True,
            text=True,
            check=False,
        )
        if finished.returncode:
            raise RuntimeError(f"The load generator failed: {finished.stderr.strip()}")
        return Measured(**json.loads(finished.stdout))

    @property
    def request(self) -> bytes:
        """The bytes of one request."""
        headers = {
            "Host": f"127.0.0.1:{self.port}",
            "Content-Type": "application/json",
            "Content-Length": str(len(self.body.encode())),
            **self.headers,
        }
        lines = [f"POST {self.path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n" + self.body).encode()


@dataclass(frozen=True)
class Measured:
    """What came back."""

    per_second: float
    p50_ms: float
    p99_ms: float

    def __str__(self) -> str:
        return f"{self.per_second:,.0f} per second, 99 % within {self.p99_ms:.1f} ms"


class Connection(asyncio.Protocol):
    """Sends a request, waits for its answer, sends the next."""

    def __init__(self, request: bytes, log: "Log") -> None:
        self.request = request
        self.log = log
        self.answer = b""
        self.sent = 0.0

    def connection_made(self, transport: Any) -> None:
        """Begins."""
        self.transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        """Notes a complete answer and goes on."""
        self.answer += data
        if not is_complete(self.answer):
            return
        if not self.answer.startswith(b"HTTP/1.1 201"):
            self.log.fail(self.answer.decode(errors="replace"))
        self.log.note(self.sent, perf_counter())
        self.answer = b""
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        """The server must not hang up."""
        self.log.fail(f"The server closed a connection: {error}")

    def _send(self) -> None:
        self.sent = perf_counter()
        self.transport.write(self.request)


class Log:
    """The answers of all connections."""

    def __init__(self, begin: float, done: "asyncio.Future[None]") -> None:
        self.begin = begin
        self.done = done
        self.times: list[float] = []

    def note(self, sent: float, answered: float) -> None:
        """Counts an answer, unless it belongs to the warm-up."""
        if answered >= self.begin:
            self.times.append(answered - sent)

    def fail(self, fault: str) -> None:
        """Ends the load."""
        if not self.done.done():
            self.done.set_exception(RuntimeError(fault))


def is_complete(answer: bytes) -> bool:
    """Whether the bytes are a whole response."""
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    if length := LENGTH.search(answer, 0, end):
        return len(answer) >= end + 4 + int(length[1])
    return CHUNKED.search(answer, 0, end) is not None and answer.endswith(b"\r\n0\r\n\r\n")


def percentile(ordered: list[float], percent: float) -> float:
    """The value that `percent` of the ordered values do not exceed."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


async def generate(load: Load) -> Measured:
    """Runs the load in this process."""
    loop = asyncio.get_running_loop()
    log = Log(perf_counter() + WARM_UP_SECONDS, loop.create_future())
    for _ in range(load.connections):
        await loop.create_connection(lambda: Connection(load.request, log), "127.0.0.1", load.port)
    await asyncio.wait([log.done], timeout=log.begin + load.seconds - perf_counter())
    ended = perf_counter()
    if log.done.done():
        log.done.result()
    log.done.cancel()
    times = sorted(log.times)
    return Measured(
        per_second=len(times) / (ended - log.begin),
        p50_ms=percentile(times, 50) * 1000,
        p99_ms=percentile(times, 99) * 1000,
    )


if __name__ == "__main__":
    order = Load(**json.load(sys.stdin))
    print(json.dumps(asdict(asyncio.run(generate(order)))))
