"""The writers of this process: one per pool, started by its first operation."""

import atexit
import os
import threading
import time

from budget import conf
from budget.ledger.protocol import Answer, Operation
from budget.ledger.submission import Submission
from budget.ledger.writer import Writer

SHORTEST_WAIT = 1.0
"""Seconds a caller waits at least, so that the ledger can say that a deadline is too near."""

_writers: dict[int, Writer] = {}
_guard = threading.Lock()
_of_parents: list[Writer] = []
"""A forked child keeps its parent's writers, threadless, so that it closes none of them."""


def submit(pool_id: int, operation: Operation) -> Submission:
    """Queue an operation with the pool's writer. Raises LedgerUnavailable when it is full."""
    return _writer(pool_id).submit(operation)


def keep(pool_id: int) -> None:
    """Start the pool's writer, which closes its minutes also while nobody calls."""
    _writer(pool_id)


def patience(deadline_ms: int | None = None, wait_seconds: float | None = None) -> float:
    """Until when a caller that comes now waits, by the clock of `time.monotonic`.

    For as long as it says, or else as the setting says; then one with a deadline of its own
    not for longer than that, but for a second at least.
    """
    if wait_seconds is not None:
        return time.monotonic() + wait_seconds
    wait = conf.ledger_wait_seconds()
    if deadline_ms is not None:
        wait = min(wait, max(SHORTEST_WAIT, deadline_ms / 1000))
    return time.monotonic() + wait


def answer_of(submission: Submission, until: float) -> Answer:
    """Wait for an answer. Raises what it was refused with, or LedgerUnavailable."""
    return submission.wait(max(0.0, until - time.monotonic()))


def stop_writers() -> None:
    """End every writer of this process once it has answered what waits; new ones may start."""
    with _guard:
        writers = list(_writers.values())
        _writers.clear()
    for writer in writers:
        writer.stop()


def _writer(pool_id: int) -> Writer:
    writer = _writers.get(pool_id)
    if writer is None or writer.is_over:
        with _guard:
            writer = _writers.get(pool_id)
            if writer is None or writer.is_over:
                writer = _writers[pool_id] = Writer(pool_id)
    return writer


def _start_afresh() -> None:
    global _guard
    _guard = threading.Lock()
    _of_parents.extend(_writers.values())
    _writers.clear()


os.register_at_fork(after_in_child=_start_afresh)
atexit.register(stop_writers)
