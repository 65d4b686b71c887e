"""The storm itself: all services at work, and each second an account of it."""

import asyncio
import sys
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from time import monotonic, time

import msgspec
from django.db import DatabaseError

from budget import services
from budget.services import BudgetError, QueueView
from claims_demo.claims import POOL
from claims_demo.storm.adjusters import Adjusters
from claims_demo.storm.books import Books
from claims_demo.storm.endpoint import at_provider
from claims_demo.storm.free import free_percent
from claims_demo.storm.producers import classify_claims, take_in_events
from claims_demo.storm.report import Orders, Report
from claims_demo.storm.seconds import chosen_strength, record
from claims_demo.storm.service import ADJUSTERS, OTHERS, SERVICES
from claims_demo.storm.span import quantile
from claims_demo.storm.stage import Sheet, Stage
from claims_demo.storm.tally import Tally, count
from claims_demo.storm.upkeep import forget_old_calls
from claims_demo.storm.weather import CALM, Weather

LAST_ANSWERS = 1_000
"""Of which a report says how long they took."""


class Storm:
    """Works until it is told to close, and reports each second what happened so far."""

    def __init__(self, orders: Orders) -> None:
        self.stage = Stage()
        self.adjusters = Adjusters(self.stage, orders)
        self.weather = Weather(first_calm=orders.first_calm)
        self.books = Books()
        self.tallies = {service.workload_class: Tally() for service in SERVICES}
        self.waiting = {service.workload_class: 0 for service in SERVICES}
        self.at_provider = 0
        self.least_free_percent: float | None = None
        self.waits_ms: deque[int] = deque(maxlen=LAST_ANSWERS)
        self.strongest = self.stage.strength
        self.started = monotonic()

    async def run(self) -> None:
        """Works; a last report follows once all questions are answered or given up."""
        async with self.adjusters, asyncio.TaskGroup() as tasks:
            self.started = monotonic()
            tasks.create_task(self.adjusters.work())
            tasks.create_task(take_in_events(self.stage))
            tasks.create_task(classify_claims(self.stage))
            tasks.create_task(forget_old_calls(self.stage))
            tasks.create_task(self._account_each_second())
        await self._account()

    async def _account_each_second(self) -> None:
        while not await self.stage.ends_within(1 - time() % 1):
            await self._account()

    async def _account(self) -> None:
        """Ends the second: what the services and the ledger counted is kept and reported."""
        sheet, at = self.stage.turn(), datetime.fromtimestamp(round(time()), UTC)
        sheet.late_ms = self.adjusters.late_ms
        try:
            chosen = await asyncio.to_thread(self._close, sheet, at, self.stage.strength)
        except (BudgetError, DatabaseError) as error:
            print(f"A second is missing: {error}", file=sys.stderr, flush=True)
        else:
            self.stage.strength = chosen or self.weather.strength(self._elapsed)
        for slug, tally in sheet.tallies.items():
            self.tallies[slug] = self.tallies[slug].plus(tally)
        self.waits_ms.extend(sheet.waits_ms)
        self.strongest = max(self.strongest, self.stage.strength)
        self._report()

    def _close(self, sheet: Sheet, at: datetime, strength: int) -> int | None:
        """Adds to the sheet what the ledger knows, keeps it, and looks what is next."""
        for slug, tally in self.books.turn().items():
            sheet.tallies[slug] = sheet.tallies[slug].plus(tally)
        self._look_at_queues(sheet)
        self._look_at_limits(strength)
        record(at, strength, sheet)
        self.adjusters.look_around()
        return chosen_strength()

    def _look_at_queues(self, sheet: Sheet) -> None:
        self.waiting[ADJUSTERS.workload_class] = self.adjusters.waiting
        queues = _queues()
        for service in OTHERS:
            slug = service.workload_class
            queue = queues.get(slug)
            self.waiting[slug] = queue.depth if queue else 0
            if queue and queue.waits_for:
                count(sheet.tallies[slug].held, queue.waits_for)

    def _look_at_limits(self, strength: int) -> None:
        self.at_provider = at_provider()
        if strength > CALM and (free := free_percent()) is not None:
            least = self.least_free_percent
            self.least_free_percent = free if least is None else min(least, free)

    def _report(self) -> None:
        report = Report(
            elapsed=self._elapsed,
            strength=self.stage.strength,
            strongest=self.strongest,
            tallies=self.tallies,
            waiting=self.waiting,
            at_provider=self.at_provider,
            least_free_percent=self.least_free_percent,
            p95_ms=quantile([*self.waits_ms, *self.adjusters.late_ms], 0.95),
        )
        # When whoever reads it was killed, the input ends too, and the storm with it.
        with suppress(BrokenPipeError):
            sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
            sys.stdout.buffer.flush()

    @property
    def _elapsed(self) -> float:
        return monotonic() - self.started


def _queues() -> dict[str, QueueView]:
    try:
        return services.queues(POOL)
    except services.UnknownPool:
        return {}
