"""Keeps a demo that is left running from filling the disk."""

import asyncio
import sys
from datetime import timedelta

from django.db import DatabaseError, connection
from django.utils import timezone

from budget.ledger.pruning import prune
from budget.models import Pool
from claims_demo.claims import POOL
from claims_demo.storm.stage import Stage

KEPT = timedelta(hours=1)
"""A service keeps its calls for longer than an idempotency key counts; nobody returns here."""
EVERY_SECONDS = 60.0


async def forget_old_calls(stage: Stage) -> None:
    """Delete, now and then, the demo's calls and jobs of more than an hour ago."""
    while not await stage.ends_within(EVERY_SECONDS):
        try:
            await asyncio.to_thread(_forget)
        except DatabaseError as error:
            print(f"Old calls stay for now: {error}", file=sys.stderr, flush=True)


def _forget() -> None:
    try:
        for pool in Pool.objects.filter(slug=POOL):
            prune(timezone.now() - KEPT, pool.pk)
    finally:
        connection.close()
