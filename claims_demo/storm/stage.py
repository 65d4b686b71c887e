"""What the services of a storm share."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic

from claims_demo.storm.pace import Pace
from claims_demo.storm.service import SERVICES, Service
from claims_demo.storm.tally import Tally
from claims_demo.storm.weather import CALM

TICK = 0.1
"""Seconds between looks at what is due."""


def _blank() -> dict[str, Tally]:
    return {service.workload_class: Tally() for service in SERVICES}


@dataclass
class Sheet:
    """What the services count until the second is over."""

    tallies: dict[str, Tally] = field(default_factory=_blank)
    """By workload class."""
    waits_ms: list[int] = field(default_factory=list)
    """How long each question took that was answered, or late when it ended otherwise."""
    late_ms: list[int] = field(default_factory=list)
    """How old each question is that is late and still open."""


class Stage:
    """How strong the storm is, when it is over, and what happens in it.

    All services work in one event loop, so none needs a lock to count.
    """

    def __init__(self) -> None:
        self.strength = CALM
        self.closing = asyncio.Event()
        self.sheet = Sheet()

    def tally(self, service: Service) -> Tally:
        """Where the service counts now. Good until the next `await`."""
        return self.sheet.tallies[service.workload_class]

    def turn(self) -> Sheet:
        """Hands over the sheet and begins a new one."""
        full, self.sheet = self.sheet, Sheet()
        return full

    async def due(self, service: Service) -> AsyncIterator[int]:
        """How much work there is for the service, each time there is some, to the storm's end."""
        pace = Pace(service.per_second, service.most_per_second)
        before = monotonic()
        while not await self.ends_within(TICK):
            now = monotonic()
            if number := pace.due(self.strength, now - before):
                yield number
            before = now

    async def ends_within(self, seconds: float) -> bool:
        """Waits; ends the wait with True as soon as the storm is over."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.closing.wait(), seconds)
        return self.closing.is_set()
