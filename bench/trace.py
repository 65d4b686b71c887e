"""Replays a public trace against the running service, then checks the service's books.

The trace is a CSV with the columns TIMESTAMP, ContextTokens and GeneratedTokens. Nobody
else may use the workload class meanwhile. The database is found as the service finds it,
by DATABASE_URL or BUDGET_DATA_DIR.
"""

import argparse
import asyncio
import csv
import itertools
import logging
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import django
import httpx2

DECIDED = {201, 422, 429}
CONNECTIONS = 64


class Row(NamedTuple):
    """One call of the trace; `at` in seconds since the first."""

    at: float
    input_tokens: int
    output_tokens: int

    @property
    def seconds(self) -> float:
        """How long the model took: a start, then so much per token written."""
        return 0.5 + 0.02 * self.output_tokens


class Replay:
    """The rows as calls of one class, `speed` times as fast as they were recorded."""

    def __init__(
        self,
        client: httpx2.AsyncClient,
        pool: str,
        workload_class: str,
        rows: list[Row],
        speed: float,
    ) -> None:
        self.client = client
        self.pool = pool
        self.workload_class = workload_class
        self.rows = rows
        self.speed = speed
        self.estimate = p95([row.output_tokens for row in rows])
        self.seen: Counter[str] = Counter()
        """What the decisions and settlements add up to, in the words of `books.totals`."""
        self.faults: list[str] = []

    async def run(self) -> None:
        """Makes every call when it is due, and waits for the last to settle."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        async with asyncio.TaskGroup() as calls:
            for row in self.rows:
                await asyncio.sleep(started + row.at / self.speed - loop.time())
                calls.create_task(self._call(row))

    async def _call(self, row: Row) -> None:
        try:
            await self._make(row)
        except httpx2.HTTPError as error:
            self.faults.append(f"{type(error).__name__}: {error}")

    async def _make(self, row: Row) -> None:
        body = {
            "pool": self.pool,
            "workload_class": self.workload_class,
            "input_tokens": row.input_tokens,
            "output_tokens": self.estimate,
            "source": "trace",
        }
        response = await self.client.post("/api/v1/admissions", json=body)
        decision = response.json()
        if response.status_code not in DECIDED:
            self.faults.append(f"{response.status_code}: {response.text}")
            return
        self.seen["offered"] += 1
        if response.status_code != httpx2.codes.CREATED:
            self.seen[f"shed {decision['reason']}"] += 1
            return
        self.seen["admitted"] += 1
        self.seen["estimated_tokens"] += row.input_tokens + self.estimate
        await asyncio.sleep(row.seconds / self.speed)
        await self._settle(decision["id"], row)

    async def _settle(self, admission: str, row: Row) -> None:
        used = {"input_tokens": row.input_tokens, "output_tokens": row.output_tokens}
        response = await self.client.post(
            f"/api/v1/admissions/{admission}/settle", json={"outcome": "succeeded", **used}
        )
        response.raise_for_status()
        self.seen["used_tokens"] += sum(used.values())


def read_rows(path: Path, most: int | None) -> list[Row]:
    """The first rows of a trace."""
    with path.open(newline="") as file:
        lines = list(itertools.islice(csv.DictReader(file), most))
    moments = [datetime.fromisoformat(line["TIMESTAMP"]) for line in lines]
    return [
        Row(
            (moment - moments[0]).total_seconds(),
            int(line["ContextTokens"]),
            int(line["GeneratedTokens"]),
        )
        for moment, line in zip(moments, lines, strict=True)
    ]


def p95(amounts: list[int]) -> int:
    """What 95 % of the amounts do not exceed."""
    return sorted(amounts)[-(-len(amounts) * 95 // 100) - 1]


async def replay(url: str, key: str, options: argparse.Namespace) -> list[str]:
    """Replays the trace and returns everything that is wrong with what came back."""
    from bench.books import differences, exceeded_limits, totals  # models, after django.setup

    rows = read_rows(options.path, options.rows)
    began = datetime.now(UTC)
    client = httpx2.AsyncClient(
        base_url=url,
        headers={"Authorization": f"Api-Key {key}"},
        limits=httpx2.Limits(max_connections=CONNECTIONS),
        timeout=httpx2.Timeout(10, pool=None),
        trust_env=False,
    )
    async with client:
        query = {"pool": options.pool, "class": options.workload_class, "from": began.isoformat()}
        before = totals(await _minutes(client, query))
        run = Replay(client, options.pool, options.workload_class, rows, options.speed)
        await run.run()
        booked = totals(await _minutes(client, query))
    booked.subtract(before)
    _tell(len(rows), run.seen)
    exceeded = await asyncio.to_thread(exceeded_limits, options.pool, began)
    return [*run.faults, *differences(run.seen, booked), *exceeded]


async def _minutes(client: httpx2.AsyncClient, query: dict[str, str]) -> list[dict[str, Any]]:
    until = datetime.now(UTC) + timedelta(minutes=1)
    response = await client.get("/api/v1/usage", params={**query, "to": until.isoformat()})
    return list(response.raise_for_status().json()["minutes"])


def _tell(rows: int, seen: Counter[str]) -> None:
    print(f"{rows:,} calls, {seen['offered']:,} decisions:")
    for name, amount in sorted(seen.items()):
        print(f"  {name}: {amount:,}")


@contextmanager
def _passing_key(pool: str) -> Iterator[str]:
    """An API key that ends with the block."""
    from budget.models import ApiKey  # models, after django.setup

    record, key = ApiKey.objects.create_key(name=f"trace on {pool}")
    try:
        yield str(key)
    finally:
        record.delete()


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench.trace", description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--pool", default="claims")
    parser.add_argument("--workload-class", default="adjuster")
    parser.add_argument("--speed", type=float, default=60, help="times as fast as recorded")
    parser.add_argument("--rows", type=int, help="only so many of the first")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "claims_demo.settings")
    django.setup()
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    with _passing_key(options.pool) as key:
        faults = asyncio.run(replay(options.url, key, options))
    for fault in faults:
        print(fault, file=sys.stderr)
    print("The books are wrong." if faults else "Every decision came back and the books are right.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
