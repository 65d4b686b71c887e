"""What is handed to the queues: claim events to score again, claims to classify at night."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeVar

from django.db import DatabaseError

from budget import services
from budget.services import BudgetError
from claims_demo.claims import POOL
from claims_demo.claims.intake import take_in
from claims_demo.claims.nightly import classify
from claims_demo.storm.service import NIGHTLY, RESCORE, Service
from claims_demo.storm.stage import Stage
from claims_demo.storm.tally import count

T = TypeVar("T")

ENQUEUED = "enqueued"
SEED = 7
TOGETHER = 3
"""Events taken in side by side: most of the time each waits for the database."""
MOST_AT_ONCE = 10
"""Claims handed in before looking whether the storm is over."""
REST_SECONDS = 1.0
"""Between looks at whether a full queue has room again."""


async def take_in_events(stage: Stage) -> None:
    """Something happens to claims, and each time one is to be scored again."""
    random = Random(SEED)
    async for number in stage.due(RESCORE):
        while number > 0 and not stage.closing.is_set():
            step = min(number, TOGETHER)
            await asyncio.gather(*(_take_in(stage, random) for _ in range(step)))
            number -= step


async def _take_in(stage: Stage, random: Random) -> None:
    outcome = await _tried(stage, RESCORE, take_in, random)
    if outcome is not None:
        _count(stage, RESCORE, {outcome: 1})


async def classify_claims(stage: Stage) -> None:
    """Claims are handed in for classification; when some are refused, the rest waits for room."""
    async for number in stage.due(NIGHTLY):
        while number > 0 and not stage.closing.is_set():
            step = min(number, MOST_AT_ONCE)
            outcomes = await _tried(stage, NIGHTLY, classify, step) or Counter()
            _count(stage, NIGHTLY, outcomes)
            if outcomes.keys() - {ENQUEUED}:
                await _room_again(stage)
                break
            number -= step


async def _room_again(stage: Stage) -> None:
    """Waits, as producers should, until the queue is no longer red."""
    while not await stage.ends_within(REST_SECONDS):
        queues = await _tried(stage, NIGHTLY, services.queues, POOL) or {}
        queue = queues.get(NIGHTLY.workload_class)
        if queue and queue.state != "red":
            return


async def _tried(stage: Stage, service: Service, step: Callable[..., T], *args: Any) -> T | None:
    """What the step returns; None, and a fault of the service, if it could not be done."""
    try:
        return await asyncio.to_thread(step, *args)
    except (BudgetError, DatabaseError) as error:
        stage.tally(service).failed += 1
        count(stage.tally(service).faults, type(error).__name__)
        return None


def _count(stage: Stage, service: Service, outcomes: Mapping[str, int]) -> None:
    stage.tally(service).asked += sum(outcomes.values())
    stage.tally(service).enqueued += outcomes.get(ENQUEUED, 0)
