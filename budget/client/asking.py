"""Asks a gate about a call, and again at the moment it tells, if the caller's deadline allows."""

import asyncio
import time
from functools import partial
from typing import cast

from budget.client import stand_in
from budget.client.gate import Gate
from budget.client.refusal import LIMITED
from budget.client.shared import service_of
from budget.client.verdict import Admitted, Ask, Choice, Refused, Verdict

AWAY = "away"


def gate_to(url: str | None, key: str | None, when_unavailable: Choice) -> Gate:
    """The gate to a service; in a test where another stands in, it need not be there.

    Raises ValueError as `service_of` does.
    """
    make = partial(service_of, url, key, when_unavailable)
    return cast(Gate, stand_in.Later(make)) if stand_in.present() else make()


def asked(gate: Gate, ask: Ask, wait: bool) -> Verdict:
    """The decision in the end; `wait` says whether to wait for it after a refusal."""
    if ask.deadline_ms == 0:
        return _too_late(ask)
    asked_at = time.monotonic()
    while True:
        verdict = (stand_in.present() or gate).admit(ask)
        seconds = _wait_of(verdict, asked_at) if wait else None
        if seconds is None:
            return verdict
        time.sleep(seconds)


async def asked_async(gate: Gate, ask: Ask, wait: bool, user: object) -> Verdict:
    """As `asked`, in the running event loop, for a user who will leave the gate in the end."""
    if ask.deadline_ms == 0:
        return _too_late(ask)
    asked_at = time.monotonic()
    while True:
        verdict = await (stand_in.present() or gate).admit_async(ask, user)
        seconds = _wait_of(verdict, asked_at) if wait else None
        if seconds is None:
            return verdict
        await asyncio.sleep(seconds)


def _too_late(ask: Ask) -> Refused:
    detail = "The workload's deadline was over before the call was made."
    return Refused(ask, LIMITED, "deadline_unmeetable", detail)


def _wait_of(verdict: Verdict, asked_at: float) -> float | None:
    """In how many seconds to ask again; None if the moment isn't before the deadline."""
    if isinstance(verdict, Admitted):
        return None
    refused: Refused = verdict
    if refused.retry_after_ms is None or refused.ask.deadline_ms is None:
        return None
    if refused.reason == AWAY:
        return None  # nobody keeps its place, and it would be counted once for each try
    left = refused.ask.deadline_ms / 1000 - (time.monotonic() - asked_at)
    seconds = refused.retry_after_ms / 1000
    return seconds if seconds < left else None
