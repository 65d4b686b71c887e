"""Server-sent events out of bytes that come in any pieces."""

from typing import NamedTuple

MOST = 1_000_000
"""Bytes of a line, and of an event's data, beyond which they are dropped."""


class Event(NamedTuple):
    """One event of a stream."""

    name: str
    """As in its `event:` field; "" if it has none."""
    data: bytes | None
    """None if it was longer than `MOST`."""


class EventReader:
    """Cuts a stream into its events, wherever it was split; keeps at most about 2 MB.

    Lines may end in LF, CR or CRLF. An event that isn't ended by an empty line never was.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._line_bytes = 0
        self._after_cr = False
        self._name = ""
        self._data: list[bytes] = []
        self._data_bytes = 0

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that end in this chunk."""
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        *whole, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        events = []
        for part in whole:
            self._keep(part)
            if (event := self._end_line()) is not None:
                events.append(event)
        self._keep(rest)
        return events

    def _keep(self, part: bytes) -> None:
        self._line_bytes += len(part)
        if self._line_bytes <= MOST:
            self._line += part

    def _end_line(self) -> Event | None:
        """Take in a line; gives the event that it ends."""
        line, is_kept = bytes(self._line), self._line_bytes <= MOST
        is_empty = self._line_bytes == 0
        self._line.clear()
        self._line_bytes = 0
        if is_empty:
            return self._end_event()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not is_kept:
            self._data_bytes = MOST + 1
        elif name == b"data":
            self._add(value)
        elif name == b"event":
            self._name = value.decode("utf-8", "replace")
        return None

    def _add(self, data: bytes) -> None:
        self._data_bytes += len(data) + 1
        if self._data_bytes <= MOST:
            self._data.append(data)

    def _end_event(self) -> Event | None:
        event = None
        if self._data_bytes or self._name:
            data = b"\n".join(self._data) if self._data_bytes <= MOST else None
            event = Event(self._name, data)
        self._name = ""
        self._data = []
        self._data_bytes = 0
        return event
