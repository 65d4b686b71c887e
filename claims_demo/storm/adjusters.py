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
from claims_demo.storm.question import OpenQuestion
from claims_demo.storm.report import Orders
from claims_demo.storm.service import ADJUSTERS
from claims_demo.storm.stage import Stage

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
        self._open: set[OpenQuestion] = set()
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
                await self._answered()
        except BaseException:
            await self._client.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    @property
    def waiting(self) -> int:
        """How many have asked and know nothing yet."""
        return len(self._open)

    @property
    def late_ms(self) -> list[int]:
        """How long those have waited so far who wait for too long already."""
        return [round(1000 * question.age) for question in self._open if question.is_late]

    def look_around(self) -> None:
        """Learn which claims there are to ask about now. Asks the database."""
        self._numbers = _latest_claims() or self._numbers

    async def work(self) -> None:
        """Ask to the storm's end; whoever waits then is left a moment to be answered."""
        under_way: set[asyncio.Task[None]] = set()
        async for due in self._stage.due(ADJUSTERS):
            free = min(due, CREW - len(under_way))
            self._stage.tally(ADJUSTERS).unasked += due - free
            for _ in range(free):
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
        question = OpenQuestion(self._stage)
        self._open.add(question)
        try:
            if await self._answered():
                question.answered()
            else:
                question.given_up()
        except Exception as error:
            # Whatever it is: a crew that shrinks unseen would make the storm look harmless.
            question.failed(kind_of(error))
        finally:
            question.close()
            self._open.discard(question)

    async def _answered(self) -> bool:
        """Whether a question was answered; raises HTTPStatusError at anything but a refusal.

        Of a claim that is closed by then nobody wants to know any more, but of another.
        """
        until = monotonic() + PATIENCE_SECONDS
        address = self._some_claim()
        body = {"question": self._random.choice(QUESTIONS)}
        place = str(uuid4())
        while True:
            headers = {**self._csrf, "Idempotency-Key": place}
            response = await self._client.post(address, json=body, headers=headers)
            if response.is_success:
                return True
            if response.status_code == HTTPStatus.NOT_FOUND and monotonic() < until:
                address, place = self._some_claim(), str(uuid4())
                continue
            wait = retry_after(response)
            if response.status_code != HTTPStatus.TOO_MANY_REQUESTS or not is_named(response):
                place = str(uuid4())
            if is_paused(response) or monotonic() + wait > until:
                return False
            if await self._stage.ends_within(wait):
                return False

    def _some_claim(self) -> str:
        return reverse("ask", args=[self._random.choice(self._numbers)])

    @property
    def _csrf(self) -> dict[str, str]:
        return {"X-CSRFToken": self._client.cookies[CSRF_COOKIE]}


def is_named(response: httpx2.Response) -> bool:
    """Whether a refusal names a moment, for which the place of the question is kept."""
    return "retry-after" in response.headers


def retry_after(response: httpx2.Response) -> float:
    """Seconds until a refused question is asked again, as the page of a claim has it.

    Raises HTTPStatusError for what is no refusal.
    """
    if response.status_code not in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        response.raise_for_status()
    wait = _number(response.headers.get("retry-after-ms")) / 1000
    return max(SHORTEST_WAIT, wait or _number(response.headers.get("retry-after")) or UNKNOWN_WAIT)


def is_paused(response: httpx2.Response) -> bool:
    """Whether a refusal says that somebody paused the assistant; a proxy's says nothing."""
    try:
        body = response.json()
    except ValueError:
        return False
    return isinstance(body, dict) and body.get("reason") == "paused"


def kind_of(error: Exception) -> str:
    """What went wrong, the same for all cases of it, so without any address."""
    if isinstance(error, httpx2.HTTPStatusError):
        return f"{error.response.status_code} {error.response.reason_phrase}"
    return type(error).__name__


def _number(text: str | None) -> float:
    """What a header says; 0 for what is missing, or a date."""
    return float(text) if text and text.isascii() and text.isdigit() else 0.0


def _latest_claims() -> list[str]:
    """Those that something happened to of late: the others may be gone soon."""
    latest = Claim.objects.order_by("-changed_at").values_list("number", flat=True)
    return list(latest[:CLAIMS])


async def _drain(under_way: set[asyncio.Task[None]]) -> None:
    if under_way:
        _, stuck = await asyncio.wait(under_way, timeout=DRAIN_SECONDS)
        for task in stuck:
            task.cancel()
