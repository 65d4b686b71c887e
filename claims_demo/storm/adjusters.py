"""Adjusters who ask the assistant about claims, over HTTP and logged in as a person would be."""

import asyncio
from contextlib import suppress
from http import HTTPStatus
from random import Random
from time import monotonic
from typing import Self
from uuid import uuid4

import httpx2
from django.urls import reverse

from claims_demo.models import Claim
from claims_demo.storm.report import Orders
from claims_demo.storm.service import ADJUSTERS, BUDGET_SECONDS
from claims_demo.storm.stage import Stage
from claims_demo.storm.tally import count

CREW = 24
"""Adjusters on duty: so many wait for an answer at most."""
CLAIMS = 50
"""At hand at once."""
PATIENCE_SECONDS = 60.0
"""After which an adjuster does without."""
SHORTEST_WAIT, UNKNOWN_WAIT = 0.5, 5.0
"""Seconds before a refused question is asked again, at least and if nobody said."""
DRAIN_SECONDS = 5.0
TIMEOUT_SECONDS = 10.0
CSRF_COOKIE = "csrftoken"
SEED = 7
QUESTIONS = (
    "What is still missing before this can be settled?",
    "Is this covered, and up to what amount?",
    "What should I tell the claimant now?",
    "Does anything here look unusual?",
)


class Adjusters:
    """A crew that shares one account. Each of them comes back when told to, as the page does.

    At the start of its block the crew logs in and asks a first question, which isn't counted:
    it wakes up what starts at the first call.
    """

    def __init__(self, stage: Stage, orders: Orders) -> None:
        self.waiting = 0
        """How many have asked and know nothing yet."""
        self._stage = stage
        self._orders = orders
        self._random = Random(SEED)
        self._numbers = _latest_claims()
        self._client = httpx2.AsyncClient(
            base_url=orders.url,
            headers={"Accept": "application/json"},
            timeout=TIMEOUT_SECONDS,
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        try:
            await self._log_in()
            with suppress(httpx2.HTTPError):
                await self._answered(monotonic())
        except BaseException:
            await self._client.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    def look_around(self) -> None:
        """Learn which claims there are to ask about now. Asks the database."""
        self._numbers = _latest_claims() or self._numbers

    async def work(self) -> None:
        """Ask to the storm's end; whoever waits then is left a moment to be answered."""
        under_way: set[asyncio.Task[None]] = set()
        async for due in self._stage.due(ADJUSTERS):
            for _ in range(min(due, CREW - len(under_way))):
                task = asyncio.create_task(self._ask())
                under_way.add(task)
                task.add_done_callback(under_way.discard)
        await _drain(under_way)

    async def _log_in(self) -> None:
        """Through the form, as a browser does."""
        page = reverse("login")
        (await self._client.get(page)).raise_for_status()
        form = {"username": self._orders.username, "password": self._orders.password}
        response = await self._client.post(page, data=form, headers=self._csrf)
        if response.status_code != HTTPStatus.FOUND:
            raise ValueError(f"{self._orders.username} was not let in: {response.status_code}.")

    async def _ask(self) -> None:
        """Ask one question until it is answered or given up, and count what came of it."""
        self._stage.tally(ADJUSTERS).asked += 1
        self.waiting += 1
        began = monotonic()
        try:
            answered = await self._answered(began)
        except httpx2.HTTPError as error:
            self._count_fault(f"{type(error).__name__}: {error}")
        else:
            self._count_end(answered, monotonic() - began)
        finally:
            self.waiting -= 1

    async def _answered(self, began: float) -> bool:
        """Whether a question was answered; raises HTTPStatusError at anything but a refusal."""
        address = reverse("ask", args=[self._random.choice(self._numbers)])
        body = {"question": self._random.choice(QUESTIONS)}
        place = str(uuid4())
        while True:
            headers = {**self._csrf, "Idempotency-Key": place}
            response = await self._client.post(address, json=body, headers=headers)
            if response.is_success:
                return True
            wait = retry_after(response)
            if "retry-after" not in response.headers:
                place = str(uuid4())
            if response.json().get("reason") == "paused":
                return False
            if monotonic() + wait > began + PATIENCE_SECONDS:
                return False
            if await self._stage.ends_within(wait):
                return False

    @property
    def _csrf(self) -> dict[str, str]:
        return {"X-CSRFToken": self._client.cookies[CSRF_COOKIE]}

    def _count_end(self, answered: bool, seconds: float) -> None:
        tally = self._stage.tally(ADJUSTERS)
        if answered:
            self._stage.sheet.waits_ms.append(round(1000 * seconds))
        if answered and seconds <= BUDGET_SECONDS:
            tally.in_time += 1
        elif answered:
            tally.late += 1
        elif seconds > BUDGET_SECONDS or not self._stage.closing.is_set():
            tally.gave_up += 1

    def _count_fault(self, fault: str) -> None:
        tally = self._stage.tally(ADJUSTERS)
        tally.failed += 1
        count(tally.faults, fault[:200])


def retry_after(response: httpx2.Response) -> float:
    """Seconds until a refused question is asked again, as the page of a claim has it.

    Raises HTTPStatusError for what is no refusal.
    """
    if response.status_code not in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        response.raise_for_status()
    milliseconds = response.headers.get("retry-after-ms")
    seconds = response.headers.get("retry-after", UNKNOWN_WAIT)
    return max(SHORTEST_WAIT, int(milliseconds) / 1000 if milliseconds else float(seconds))


def _latest_claims() -> list[str]:
    """Those that something happened to of late: the others may be gone soon."""
    latest = Claim.objects.order_by("-changed_at").values_list("number", flat=True)
    return list(latest[:CLAIMS])


async def _drain(under_way: set[asyncio.Task[None]]) -> None:
    if under_way:
        _, stuck = await asyncio.wait(under_way, timeout=DRAIN_SECONDS)
        for task in stuck:
            task.cancel()
