"""One call of a service: ask, come back when told to, make the call, settle."""

import asyncio
import math
from dataclasses import dataclass
from time import monotonic
from uuid import uuid4

import httpx2

from claims_demo.storm.report import Tally
from claims_demo.storm.service import Service, Size

POOL = "claims"
ADMISSIONS = "/api/v1/admissions"


@dataclass(frozen=True)
class Line:
    """A service's way to the budget: its client, its tally, and when to hang up."""

    service: Service
    client: httpx2.AsyncClient
    tally: Tally
    closing: asyncio.Event

    async def call(self, size: Size) -> None:
        """Makes one call, with every end it can have counted in the tally."""
        self.tally.calls += 1
        deadline = monotonic() + self.service.deadline_seconds
        try:
            admission = await self._admission(size, deadline)
            if admission is not None:
                await self._use(admission, size, deadline)
        except (httpx2.HTTPError, ValueError, KeyError) as error:
            self.tally.failed += 1
            _count(self.tally.faults, f"{type(error).__name__}: {error}"[:200])

    async def _admission(self, size: Size, deadline: float) -> str | None:
        """The id under which the call was admitted; None if it was not, or the storm is over."""
        body = {
            "pool": POOL,
            "workload_class": self.service.workload_class,
            "input_tokens": size.input_tokens,
            "output_tokens": size.output_tokens,
            "source": self.service.name,
        }
        headers = {"Idempotency-Key": str(uuid4())}
        while True:
            response = await self.client.post(ADMISSIONS, json=body, headers=headers)
            if response.status_code != httpx2.codes.SERVICE_UNAVAILABLE:
                self._count_decision(response)
            if response.status_code == httpx2.codes.CREATED:
                return str(response.json()["id"])
            wait = retry_after(response)
            if monotonic() + wait > deadline:
                self.tally.gave_up += 1
                return None
            if await self._hangs_up_within(wait):
                return None

    def _count_decision(self, response: httpx2.Response) -> None:
        if response.status_code == httpx2.codes.CREATED:
            self.tally.admitted += 1
        elif (reason := response.json().get("reason")) is not None:
            _count(self.tally.shed, reason)
        else:
            raise ValueError(f"{response.status_code} {response.text}")
        self.tally.offered += 1

    async def _use(self, admission: str, size: Size, deadline: float) -> None:
        """Takes as long as the model does, then settles what was used; a cut call is half used."""
        cut = await self._hangs_up_within(size.seconds)
        used_output = size.used_output_tokens // 2 if cut else size.used_output_tokens
        response = await self.client.post(
            f"{ADMISSIONS}/{admission}/settle",
            json={
                "outcome": "failed" if cut else "succeeded",
                "input_tokens": size.input_tokens,
                "output_tokens": used_output,
            },
        )
        response.raise_for_status()
        self.tally.settled_tokens += size.input_tokens + used_output
        if cut:
            return
        if monotonic() <= deadline:
            self.tally.in_time += 1
        else:
            self.tally.late += 1

    async def _hangs_up_within(self, seconds: float) -> bool:
        """Waits; ends the wait with True as soon as the storm is over."""
        try:
            await asyncio.wait_for(self.closing.wait(), seconds)
        except TimeoutError:
            return False
        return True


def retry_after(response: httpx2.Response) -> float:
    """Seconds until it is worth asking again; infinite when it never is."""
    if (milliseconds := response.headers.get("retry-after-ms")) is not None:
        return int(milliseconds) / 1000
    return float(response.headers.get("retry-after", math.inf))


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1
