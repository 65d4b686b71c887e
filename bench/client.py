"""What our transport adds to the official SDK's calls of a provider on this machine."""

import gc
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from statistics import median
from typing import Any

import httpx2
import openai
import psutil

from bench.rounds import Tell, in_turn
from bench.world import HOST, World
from budget import services
from budget.client import BudgetTransport, Service, workload
from budget.client.gate import Gate
from budget.client.watch import watch
from budget.services.gate import LedgerGate
from claims_demo.processes import free_port, start, stop

POOL = "bench"
CALLERS = 16
LATENCY_MS = 100
"""Of the provider: callers wait, as they do in life, and the machine is not what is measured."""
PAUSE_SECONDS = 0.1
"""Between two calls of a caller, at most: those who wait for one commit would go on in step."""
STREAMS = 1_000
CHAT: dict[str, Any] = {
    "model": "gpt-4o-mini",
    "messages": [{"role": "user", "content": "Is water damage covered? " * 40}],
    "max_tokens": 64,
}
MILLISECONDS = 1000.0
MEGABYTE = 2**20
READY_SECONDS = 30.0
LEFT_SECONDS = 20.0


def measure(world: World, seconds: float, rounds: int, tell: Tell) -> dict[str, float]:
    """Medians a call takes more than the bare SDK's, in ms, and what 1,000 streams leave behind."""
    with world.served() as server, _provider() as provider:
        gate, ledger = Service(server.url, server.key), LedgerGate()
        contenders = {
            "bare": lambda: _median_ms(provider, None, seconds),
            "over HTTP": lambda: _median_ms(provider, gate, seconds),
            "in process": lambda: _median_ms(provider, ledger, seconds),
        }
        for contender in contenders.values():
            contender()  # warm
        took = {name: median(values) for name, values in in_turn(contenders, rounds, tell).items()}
        left = _streams(provider, gate, tell)
        gate.close()
        ledger.close()
    return {
        "client_bare_ms": took["bare"],
        "client_overhead_ms_http": took["over HTTP"] - took["bare"],
        "client_overhead_ms_inprocess": took["in process"] - took["bare"],
        **left,
    }


@contextmanager
def _provider() -> Iterator[str]:
    """llmock, as slow as said."""
    port = free_port(HOST)
    options = ["--port", str(port), "--latency-ms", str(LATENCY_MS), "--log-level", "warning"]
    process = start("llmock.cli", "serve", "--host", HOST, *options, output=None)
    try:
        _wait_until_up(f"http://{HOST}:{port}/v1/models")
        yield f"http://{HOST}:{port}/v1"
    finally:
        stop(process)


def _wait_until_up(address: str) -> None:
    end = time.monotonic() + READY_SECONDS
    while True:
        try:
            httpx2.get(address)
            return
        except httpx2.TransportError:
            if time.monotonic() > end:
                raise RuntimeError("The provider didn't start.") from None
            time.sleep(0.1)


@contextmanager
def _sdk(provider: str, gate: Gate | None) -> Iterator[openai.OpenAI]:
    transport = None if gate is None else BudgetTransport(POOL, gate=gate)
    http = openai.DefaultHttpxClient(transport=transport)
    with openai.OpenAI(api_key="k", base_url=provider, http_client=http) as client:
        yield client


def _median_ms(provider: str, gate: Gate | None, seconds: float) -> float:
    """How long a call takes while so many callers make one now and then."""
    took: list[float] = []
    with _sdk(provider, gate) as client:

        def call() -> None:
            chance = random.Random()
            end = time.monotonic() + seconds
            with workload("adjuster"):
                while time.monotonic() < end:
                    began = time.perf_counter()
                    client.chat.completions.create(**CHAT)
                    took.append(time.perf_counter() - began)
                    time.sleep(chance.uniform(0, PAUSE_SECONDS))

        _together(call)
    return MILLISECONDS * median(took)


def _streams(provider: str, gate: Service, tell: Tell) -> dict[str, float]:
    """Streams, each second of which is dropped in its middle: first to warm, then measured."""
    gate.flush()
    held = _held()
    with _sdk(provider, gate) as client:
        _stream_all(client)
        gc.collect()
        before = psutil.Process().memory_info().rss
        _stream_all(client)
        gc.collect()
        watch.settle_dropped()
        leases = _leases_left(gate, held)
        grown = (psutil.Process().memory_info().rss - before) / MEGABYTE
    tell(f"after {STREAMS:,} streams: {leases:.0f} leases, {grown:.1f} MB more")
    return {"client_stream_leases": leases, "client_stream_mb": max(0.0, grown)}


def _stream_all(client: openai.OpenAI) -> None:
    numbers = count()

    def read() -> None:
        with workload("adjuster"):
            while (number := next(numbers)) < STREAMS:
                stream = client.chat.completions.create(**CHAT, stream=True)
                if number % 2:
                    next(iter(stream))
                else:
                    for _ in stream:
                        pass

    _together(read)


def _together(work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _leases_left(gate: Service, held: float) -> float:
    """How many more calls than before the ledger takes to be under way, once all is told."""
    end = time.monotonic() + LEFT_SECONDS
    while True:
        gate.flush()
        left = _held() - held
        if left <= 0 or time.monotonic() > end:
            return max(0.0, left)
        time.sleep(0.1)


def _held() -> float:
    limits = services.pool_view(POOL)["limits"]
    gauge = next(limit for limit in limits if limit["algorithm"] == "gauge")
    return float(gauge["amount"] - gauge["available"])
