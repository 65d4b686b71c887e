"""What a client sees of an old PostgreSQL: as much of the protocol as it takes to be let in."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

VERSION = b"15.4"
PROTOCOL = 3
"""Major version; encryption is asked for under a much higher number."""


@contextmanager
def old_server() -> Iterator[str]:
    """The URL of a server of version 15 on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_serve, args=(listener,), daemon=True).start()
        yield f"postgresql://ann@127.0.0.1:{listener.getsockname()[1]}/budget"
        listener.shutdown(socket.SHUT_RDWR)


def _serve(listener: socket.socket) -> None:
    while True:
        try:
            line, _ = listener.accept()
        except OSError:
            return
        with line:
            _let_in(line)


def _let_in(line: socket.socket) -> None:
    """Turns down encryption, asks for no password, and tells the version."""
    while _startup_code(line) >> 16 > PROTOCOL:
        line.sendall(b"N")
    told = {b"server_version": VERSION, b"client_encoding": b"UTF8", b"server_encoding": b"UTF8"}
    parameters = [_message(b"S", name + b"\0" + value + b"\0") for name, value in told.items()]
    line.sendall(
        b"".join([_message(b"R", struct.pack("!I", 0)), *parameters, _message(b"Z", b"I")])
    )
    while line.recv(4096):
        pass


def _startup_code(line: socket.socket) -> int:
    length, code = struct.unpack("!II", line.recv(8, socket.MSG_WAITALL))
    if length > 8:
        line.recv(length - 8, socket.MSG_WAITALL)
    return int(code)


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!I", len(content) + 4) + content
