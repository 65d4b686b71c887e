"""Stands between the ledger and its server, and loses what it is told to lose."""

import socket
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

COMMITTED = b"COMMIT\0"
"""How the server reports a commit."""


class Proxy:
    """Forwards connections on a Unix socket; cuts them at the next commit's reply if asked to."""

    def __init__(self, directory: Path, host: str, port: int) -> None:
        """`directory` gets the socket; `host` and `port` are the server's."""
        self._server = host, port
        self.lose_replies = 0
        """How many replies to a commit are still to be lost."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(directory / ".s.PGSQL.5432"))
        self._listener.listen()
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> "Proxy":
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _shut(self._listener)
        self._listener.close()
        for one in self._sockets:
            _shut(one)
        for thread in self._threads:
            thread.join()
        for one in self._sockets:
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = _connect(*self._server)
            self._sockets += [client, server]
            for arguments in ((client, server, False), (server, client, True)):
                thread = threading.Thread(target=self._forward, args=arguments)
                self._threads.append(thread)
                thread.start()

    def _forward(self, source: socket.socket, sink: socket.socket, replies: bool) -> None:
        while True:
            try:
                data = source.recv(65_536)
                if replies and self.lose_replies and COMMITTED in data:
                    self.lose_replies -= 1
                    data = b""
                if data:
                    sink.sendall(data)
            except OSError:
                data = b""
            if not data:
                _shut(source)
                _shut(sink)
                return


def _connect(host: str, port: int) -> socket.socket:
    if not host.startswith("/"):
        return socket.create_connection((host, port))
    server = socket.socket(socket.AF_UNIX)
    server.connect(f"{host}/.s.PGSQL.{port}")
    return server


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
