"""llmock as a process: a provider with real limits and headers."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from claims_demo.processes import free_port

PROGRAM = Path(sys.executable).with_name("llmock")
HOST = "127.0.0.1"


@contextmanager
def mock_provider(*options: str) -> Iterator[str]:
    """The address of one that answers; OpenAI's is below /v1, Anthropic's below /anthropic."""
    port = free_port(HOST)
    arguments = ["serve", "--host", HOST, "--port", str(port), "--log-level", "warning"]
    process = subprocess.Popen([PROGRAM, *arguments, *options])
    url = f"http://{HOST}:{port}"
    try:
        _wait_until_up(url)
        yield url
    finally:
        process.terminate()
        process.wait(10)


def _wait_until_up(url: str) -> None:
    for _ in range(100):
        try:
            httpx2.get(f"{url}/v1/models")
        except httpx2.TransportError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError("the mock provider didn't start")
