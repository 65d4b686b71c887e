"""Waits for what other threads do."""

import time
from collections.abc import Callable
from typing import Any

from budget.jobs.crew import Crew

PATIENCE_SECONDS = 20.0
"""More than anything takes on a machine that is busy."""


def wait_until(condition: Callable[[], Any]) -> None:
    """Return once it holds; fail if it doesn't in time."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.01)


def wait_until_idle(crew: Crew) -> None:
    """Return once no job runs."""
    wait_until(lambda: crew.idle)
