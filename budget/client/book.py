"""What was decided while the service was away, kept until it has been told."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from budget.client.checked import MAX_TOKENS as MOST
from budget.client.verdict import Choice
from budget.providers import Tokens

Line = tuple[str, str | None, Choice]
"""Pool, workload class, and by which choice."""
MOST_TOLD = 100
"""Entries that one report takes."""


@dataclass(slots=True)
class Entry:
    """Calls of one line."""

    first_at: float
    last_at: float
    report: str = field(default_factory=lambda: str(uuid4()))
    """Names it, so that it counts once however often it is told."""
    admitted: int = 0
    shed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    estimated_input_tokens: int = 0
    estimated_output_tokens: int = 0
    """Of the admitted calls before they were made, and what any used beyond: the most that the
    provider may count."""

    def add(self, tokens: Mapping[str, int]) -> bool:
        """Count so much, by name. False if it would be more than a report is believed."""
        sums = {name: getattr(self, name) + amount for name, amount in tokens.items()}
        if max(sums.values()) > MOST:
            return False
        for name, amount in sums.items():
            setattr(self, name, amount)
        return True


class Book:
    """Counts by line. What is being told isn't changed any more; new calls go to a new entry."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._open: dict[Line, Entry] = {}
        self._told: dict[str, tuple[Line, Entry]] = {}

    def admitted(self, line: Line, estimated: Tokens) -> None:
        """Count a call that was let go."""
        self._add(
            line,
            admitted=1,
            estimated_input_tokens=estimated.input,
            estimated_output_tokens=estimated.output,
        )

    def shed(self, line: Line) -> None:
        """Count a call that was not."""
        with self._guard:
            self._entry(line).shed += 1

    def used(self, line: Line, used: Tokens, estimated: Tokens) -> None:
        """Count what a call used, once it has ended."""
        self._add(
            line,
            input_tokens=used.input,
            output_tokens=used.output,
            estimated_input_tokens=max(0, used.input - estimated.input),
            estimated_output_tokens=max(0, used.output - estimated.output),
        )

    def rows(self, pool: str) -> list[dict[str, Any]]:
        """What is to be told of a pool: all of `POST /callers`'s `away`."""
        now = self._clock()
        with self._guard:
            for line in [line for line in self._open if line[0] == pool]:
                entry = self._open.pop(line)
                self._told[entry.report] = (line, entry)
            mine = [told for told in self._told.values() if told[0][0] == pool]
        return [_row(line, entry, now) for line, entry in mine[:MOST_TOLD]]

    def taken(self, rows: list[dict[str, Any]]) -> None:
        """Those rows have arrived."""
        with self._guard:
            for row in rows:
                self._told.pop(row["report"], None)

    @property
    def pools(self) -> set[str]:
        """The pools of which something is to be told."""
        with self._guard:
            return {line[0] for line in self._open} | {line[0] for line, _ in self._told.values()}

    def _add(self, line: Line, **tokens: int) -> None:
        with self._guard:
            entry = self._entry(line)
            if not entry.add(tokens):
                self._told[entry.report] = (line, self._open.pop(line))
                self._entry(line).add(tokens)

    def _entry(self, line: Line) -> Entry:
        now = self._clock()
        entry = self._open.get(line)
        if entry is None:
            entry = self._open[line] = Entry(first_at=now, last_at=now)
        entry.last_at = now
        return entry


def _row(line: Line, entry: Entry, now: float) -> dict[str, Any]:
    _, workload_class, choice = line
    return {
        "report": entry.report,
        "workload_class": workload_class,
        "choice": choice,
        "admitted": entry.admitted,
        "shed": entry.shed,
        "input_tokens": entry.input_tokens,
        "output_tokens": entry.output_tokens,
        "estimated_input_tokens": entry.estimated_input_tokens,
        "estimated_output_tokens": entry.estimated_output_tokens,
        # The service's clock decides when that was.
        "first_at_ms_ago": round(1000 * (now - entry.first_at)),
        "last_at_ms_ago": round(1000 * (now - entry.last_at)),
    }
