"""A provider that answers a byte now and then."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

PAUSE_SECONDS = 0.2


@contextmanager
def dribbling(pieces: int | None = None, then: bytes = b"") -> Iterator[str]:
    """Its URL. It never stops, or says the rest after so many bytes."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            with suppress(OSError):
                for _ in count() if pieces is None else range(pieces):
                    if over.wait(PAUSE_SECONDS):
                        return
                    self.wfile.write(b" ")
                self.wfile.write(then)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            over.set()
            server.shutdown()
