"""An HTTP server that answers as a test says, and remembers what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Request:
    """What was sent."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: Any


@dataclass
class Answer:
    """What is sent back."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)


@contextmanager
def answering(answer: Callable[[Request], Answer]) -> Iterator[tuple[str, list[Request]]]:
    """The server's URL, and the requests so far."""
    asked: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(self.rfile.read(int(headers["content-length"])))
            asked.append(Request(self.path, headers, body))
            given = answer(asked[-1])
            content = json.dumps(given.body).encode()
            self.send_response(given.status)
            for name, value in {**given.headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
