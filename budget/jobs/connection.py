"""The connection of one thread's client, so that another thread can hang up on the provider."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

import httpx2

CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete")
WATCH_SECONDS = 0.25
"""How often a waiting call looks whether it is still wanted."""


class Connection:
    """Knows the newest connection of a client that serves one call at a time.

    Closing a client from another thread wakes nobody who waits for its answer, and the
    provider goes on, too; shutting the socket down does both.
    """

    def __init__(self) -> None:
        self._stream: Any = None

    def follow(self, request: httpx2.Request) -> None:
        """Event hook of the client: learn of the connection that the request makes."""
        request.extensions["trace"] = self._trace

    def cut(self) -> None:
        """Hang up, if there is a connection."""
        stream = self._stream
        sock = None if stream is None else stream.get_extra_info("socket")
        if sock is not None:
            with suppress(OSError):
                # Not TLS's own shutdown, which would wait for the other side.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)

    @contextmanager
    def cut_when(self, is_cancelled: Callable[[], bool]) -> Iterator[None]:
        """Hang up as soon as that holds, until the block ends."""
        done = Event()
        watcher = Thread(target=self._watch, args=(is_cancelled, done), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()

    def _watch(self, is_cancelled: Callable[[], bool], done: Event) -> None:
        # Again and again: the connection may not stand yet the first time.
        while not done.wait(WATCH_SECONDS):
            if is_cancelled():
                self.cut()

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        if event in CONNECTED:
            self._stream = info["return_value"]
