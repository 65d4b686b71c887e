"""A stand-in for the service that admits everything, and what is asked of it."""

import time
from typing import Any
from uuid import uuid4

from budget.client.verdict import Ask
from tests.client.servers import Answer, Asked
from tests.client.terms import BODY

SOON = 5.0
"""Seconds within which what happens in the background has happened."""
ADMISSIONS = "/api/v1/admissions"


def admitted(asked: Asked, **changes: Any) -> Answer:
    body = {"id": str(uuid4()), "decision": "admitted", "lease_expires": None, **changes}
    return Answer(201, body)


def well(asked: Asked) -> Answer:
    """A service that admits everything."""
    if asked.path.endswith("/callers"):
        return Answer(200, BODY)
    return admitted(asked) if asked.path == ADMISSIONS else Answer(200, {})


def ask(workload_class: str | None = "adjuster", tokens: int = 100) -> Ask:
    key = str(uuid4())
    return Ask("claims", workload_class, tokens, 50, 2000, "claims/ask.py:7", {"a": "b"}, key)


def until(true: Any, seconds: float = SOON) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it didn't come about in time"
        time.sleep(0.01)
