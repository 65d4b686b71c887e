"""Real HTTP servers that do as a test says: what the service and a provider may come to do."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Asked:
    """A request that came."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)

    @property
    def json(self) -> Any:
        return json.loads(self.body or b"null")


@dataclass
class Answer:
    """What a request is answered."""

    status: int = 200
    body: Any = None
    """Bytes, or what becomes JSON."""
    headers: dict[str, str] = field(default_factory=dict)
    after: float = 0.0
    """Seconds."""
    chunks: list[bytes] | None = None
    """Sent one by one instead of a body, `pause` seconds apart; then the connection is closed."""
    pause: float = 0.0
    hang_up: bool = False
    """Close the connection without an answer, or in the middle of the chunks."""


class Listener(ThreadingHTTPServer):
    """Lets as many wait as come at once."""

    request_queue_size = 512


class Server:
    """Answers requests with what `answer` makes of them, and keeps them in `asked`."""

    dateless = False

    def __init__(self, port: int = 0) -> None:
        self.asked: list[Asked] = []
        self.answer: Callable[[Asked], Answer] = lambda asked: Answer(body={})
        self._server = Listener(("127.0.0.1", port), type("Handler", (Handler,), {"owner": self}))
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def to(self, end: str) -> list[Asked]:
        """The requests whose path ends so."""
        return [asked for asked in self.asked if asked.path.endswith(end)]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Handler(BaseHTTPRequestHandler):
    owner: Server
    protocol_version = "HTTP/1.1"
    # Head and body are written one after the other: the second must not wait for an answer.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        self.owner.asked.append(asked)
        answer = self.owner.answer(asked)
        time.sleep(answer.after)
        try:
            self._send(answer)
        except OSError:
            self.close_connection = True

    def _send(self, answer: Answer) -> None:
        if answer.hang_up and answer.chunks is None:
            self.close_connection = True
            return
        self.send_response_only(answer.status)
        for name, value in _headers(answer).items():
            self.send_header(name, value)
        self.end_headers()
        if answer.chunks is None:
            self.wfile.write(_content(answer))
        else:
            self._send_chunks(answer, answer.chunks)

    def _send_chunks(self, answer: Answer, chunks: list[bytes]) -> None:
        self.close_connection = True
        for chunk in chunks:
            self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            self.wfile.flush()
            time.sleep(answer.pause)
        if not answer.hang_up:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *args: Any) -> None:
        pass


def _content(answer: Answer) -> bytes:
    return answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()


def _headers(answer: Answer) -> dict[str, str]:
    headers = {} if Server.dateless else {"Date": formatdate(usegmt=True)}
    headers |= {} if isinstance(answer.body, bytes) else {"Content-Type": "application/json"}
    if answer.chunks is None:
        headers["Content-Length"] = str(len(_content(answer)))
    else:
        headers["Transfer-Encoding"] = "chunked"
    return headers | answer.headers


@contextmanager
def serving(port: int = 0) -> Iterator[Server]:
    server = Server(port)
    try:
        yield server
    finally:
        server.stop()
