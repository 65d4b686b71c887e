"""Those who hand work to the queues."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest
from django.db import OperationalError

from claims_demo.storm import producers
from claims_demo.storm.producers import classify_claims, take_in_events
from claims_demo.storm.stage import Stage
from claims_demo.storm.tally import Tally
from tests.claims_demo.background import ClosingExecutor


def storm(producer: Callable[[Stage], Any], seconds: float) -> tuple[Stage, float]:
    """What was counted in so long a storm, and how many seconds the producer took to end."""
    stage = Stage()
    stage.strength = 10

    async def work() -> float:
        asyncio.get_running_loop().set_default_executor(ClosingExecutor())
        working = asyncio.create_task(producer(stage))
        await asyncio.sleep(seconds)
        stage.closing.set()
        told = monotonic()
        await working
        return monotonic() - told

    return stage, asyncio.run(work())


@pytest.mark.parametrize(
    ("producer", "step"), [(take_in_events, "take_in"), (classify_claims, "classify")]
)
def test_a_slow_platform_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch, producer: Callable[[Stage], Any], step: str
) -> None:
    def slow(_: object) -> Any:
        time.sleep(0.2)
        return "enqueued" if step == "take_in" else Counter(enqueued=1)

    monkeypatch.setattr(producers, step, slow)
    stage, took = storm(producer, 1.2)
    assert took < 0.5
    assert 0 < sum(tally.enqueued for tally in stage.sheet.tallies.values()) < 20


def test_a_fault_is_counted_by_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(range(1000))

    def broken(_: object) -> str:
        raise OperationalError(f"connection {next(moments)} was lost")

    monkeypatch.setattr(producers, "take_in", broken)
    stage, _ = storm(take_in_events, 0.5)
    tally = stage.sheet.tallies["rescore"]
    assert tally == Tally(failed=tally.failed, faults={"OperationalError": tally.failed})
    assert tally.failed > 1
