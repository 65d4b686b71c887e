"""The storm's process: orders in, a report a second out, until its input ends."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from time import monotonic

import httpx2
import msgspec

from claims_demo.storm.call import Line
from claims_demo.storm.report import Orders, Report, Tally
from claims_demo.storm.service import SERVICES, Service
from claims_demo.storm.weather import Weather

TICK = 0.05
DRAIN_SECONDS = 5.0
SEED = 7


class Storm:
    """All services at work on one timeline."""

    def __init__(self, orders: Orders, closing: asyncio.Event) -> None:
        self.orders = orders
        self.closing = closing
        self.weather = Weather(first_calm=orders.first_calm)
        self.tallies = {service.workload_class: Tally() for service in SERVICES}
        self.started = monotonic()

    async def run(self) -> None:
        """Calls and reports until it is told to close; then settles what is open."""
        async with asyncio.TaskGroup() as tasks:
            for service in SERVICES:
                tasks.create_task(self._work(service))
            tasks.create_task(self._report_each_second())
        self._report()

    async def _work(self, service: Service) -> None:
        """Begins each call when it is due and there is room for it."""
        random = Random(f"{SEED} {service.name}")
        under_way: set[asyncio.Task[None]] = set()
        async with self._line(service) as line:
            while not self.closing.is_set():
                due = service.calls_due(self.weather, self._elapsed) - line.tally.calls
                for _ in range(min(due, service.at_once - len(under_way))):
                    task = asyncio.create_task(line.call(service.size(random)))
                    under_way.add(task)
                    task.add_done_callback(under_way.discard)
                await asyncio.sleep(TICK)
            await _drain(under_way)

    @asynccontextmanager
    async def _line(self, service: Service) -> AsyncIterator[Line]:
        key = self.orders.keys[service.workload_class]
        client = httpx2.AsyncClient(
            base_url=self.orders.url,
            headers={"Authorization": f"Api-Key {key}"},
            timeout=10,
            trust_env=False,
        )
        async with client:
            yield Line(service, client, self.tallies[service.workload_class], self.closing)

    async def _report_each_second(self) -> None:
        while not self.closing.is_set():
            self._report()
            await asyncio.sleep(1 - self._elapsed % 1)

    def _report(self) -> None:
        elapsed = self._elapsed
        report = Report(
            elapsed=elapsed,
            is_storm=self.weather.is_storm(elapsed),
            storms=self.weather.storms(elapsed),
            tallies=self.tallies,
        )
        sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
        sys.stdout.buffer.flush()

    @property
    def _elapsed(self) -> float:
        return monotonic() - self.started


async def _drain(under_way: set[asyncio.Task[None]]) -> None:
    """Lets calls hang up and settle; what takes too long is left to its lease."""
    if under_way:
        _, stuck = await asyncio.wait(under_way, timeout=DRAIN_SECONDS)
        for task in stuck:
            task.cancel()


async def main() -> None:
    """Reads the orders, then storms until standard input ends, as it does when the giver dies."""
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=Orders)
    closing = asyncio.Event()
    loop = asyncio.get_running_loop()

    def close_at_end_of_input() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(closing.set)

    threading.Thread(target=close_at_end_of_input, daemon=True).start()
    await Storm(orders, closing).run()


if __name__ == "__main__":
    asyncio.run(main())
