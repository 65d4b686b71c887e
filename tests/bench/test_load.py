"""The load generator's reading of answers."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bench.load import Load, is_complete, percentile

HEAD = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n"
CHUNKED = b"HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "complete"),
    [
        (b"HTTP/1.1 201 Cre", False),
        (HEAD, False),
        (HEAD + b"{", False),
        (HEAD + b"{}", True),
        (CHUNKED + b"2\r\n{}\r\n", False),
        (CHUNKED + b"2\r\n{}\r\n0\r\n\r\n", True),
        (b"HTTP/1.1 201 Created\r\n\r\n", False),
    ],
)
def test_knows_a_whole_answer(answer: bytes, complete: bool) -> None:
    assert is_complete(answer) == complete


def test_percentiles_are_values_that_were_measured() -> None:
    hundred = [float(n) for n in range(1, 101)]
    assert percentile(hundred, 50) == 50
    assert percentile(hundred, 99) == 99
    assert percentile([3.0], 99) == 3


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201 if body == b"good" else 429)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.processes
def test_measures_a_server(port: int) -> None:
    measured = Load(port, "/", {}, "good", connections=2, seconds=0.2).run()
    assert measured.per_second > 10
    assert 0 < measured.p50_ms <= measured.p99_ms


@pytest.mark.processes
def test_an_answer_other_than_created_ends_the_load(port: int) -> None:
    with pytest.raises(RuntimeError, match=r"HTTP/1\.1 429"):
        Load(port, "/", {}, "bad", connections=1, seconds=5).run()


@pytest.mark.processes
def test_nobody_listening_ends_the_load() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        with pytest.raises(RuntimeError, match="load generator failed"):
            Load(probe.getsockname()[1], "/", {}, "good", connections=1, seconds=5).run()
