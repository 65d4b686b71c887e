"""The storm as a process of its own, seen from the one that starts it."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator

import msgspec

from claims_demo.processes import stop
from claims_demo.storm.report import Orders, Report

DRAIN_SECONDS = 8.0


class StormProcess:
    """A running storm. It ends by itself when whoever started it dies."""

    def __init__(self, orders: Orders) -> None:
        # A session of its own: Ctrl-C reaches the starter only, which then ends the storm.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "claims_demo.storm"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        self._orders = self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            self._orders.write(msgspec.json.encode(orders) + b"\n")
            self._orders.flush()

    def reports(self) -> Iterator[Report]:
        """One report a second, and a last one after `end`, with open calls settled."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield msgspec.json.decode(line, type=Report)

    def end(self) -> None:
        """Tells the storm to settle what is open and to end."""
        with contextlib.suppress(BrokenPipeError):
            self._orders.close()

    def close(self) -> None:
        """Waits for the end, or brings it about."""
        self.end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(DRAIN_SECONDS)
        stop(self._process)
        if self._process.stdout is not None:
            self._process.stdout.close()
