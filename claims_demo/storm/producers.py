"""What is handed to the queues: claim events to score again, claims to classify at night."""

import asyncio
from random import Random

from django.db import DatabaseError

from budget import services
from budget.services import BudgetError
from claims_demo.claims import POOL
from claims_demo.claims.intake import take_in
from claims_demo.claims.nightly import classify
from claims_demo.storm.service import NIGHTLY, RESCORE, Service
from claims_demo.storm.stage import Stage
from claims_demo.storm.tally import count

ENQUEUED = "enqueued"
SEED = 7
MOST_AT_ONCE = 50
"""Claims handed in together; what is beyond it waits for the next night."""
REST_SECONDS = 1.0
"""Between looks at whether a full queue has room again."""


async def take_in_events(stage: Stage) -> None:
    """Something happens to claims, and each time one is to be scored again."""
    random = Random(SEED)
    async for number in stage.due(RESCORE):
        for _ in range(number):
            try:
                outcome = await asyncio.to_thread(take_in, random)
            except (BudgetError, DatabaseError) as error:
                _failed(stage, RESCORE, error)
                continue
            stage.tally(RESCORE).asked += 1
            stage.tally(RESCORE).enqueued += outcome == ENQUEUED


async def classify_claims(stage: Stage) -> None:
    """Claims are handed in for classification; when some are refused, the rest waits for room."""
    async for number in stage.due(NIGHTLY):
        try:
            outcomes = await asyncio.to_thread(classify, min(number, MOST_AT_ONCE))
        except (BudgetError, DatabaseError) as error:
            _failed(stage, NIGHTLY, error)
            continue
        stage.tally(NIGHTLY).asked += sum(outcomes.values())
        stage.tally(NIGHTLY).enqueued += outcomes.get(ENQUEUED, 0)
        if outcomes.keys() - {ENQUEUED}:
            await _room_again(stage)


async def _room_again(stage: Stage) -> None:
    """Waits, as producers should, until the queue is green."""
    while not await stage.ends_within(REST_SECONDS):
        queues = await asyncio.to_thread(services.queues, POOL)
        if queues[NIGHTLY.workload_class].state == "green":
            return


def _failed(stage: Stage, service: Service, error: Exception) -> None:
    stage.tally(service).failed += 1
    count(stage.tally(service).faults, f"{type(error).__name__}: {error}"[:200])
