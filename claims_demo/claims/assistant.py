"""The adjuster's assistant: an answer within two seconds in all, or an honest no."""

import json
from dataclasses import dataclass
from time import monotonic

# Here and not when it is first needed: that takes a second, half of what an answer may take.
import anthropic
import httpx2

from budget import services
from budget.jobs.clients import Client, client_of
from budget.models import Pool
from budget.providers.anthropic import usage
from budget.providers.tokens import Tokens
from budget.services import OpenCall
from budget.tasks import GiveUp, TryAgain
from claims_demo.claims import POOL, replies, requests
from claims_demo.claims.requests import Request
from claims_demo.models import Claim

SECONDS = 2.0
"""What an answer may take, from the question to the page."""
LAST_STEPS_SECONDS = 0.1
"""Kept for settling and storing, which come after the answer."""
BUSY = (429, 529)
SOURCE = "claims_demo.claims.assistant.answer"


class TooSlow(Exception):
    """The answer didn't come in time."""


class ProviderTrouble(Exception):
    """The provider gave no answer, for a reason of its own."""


@dataclass(frozen=True)
class Answer:
    """What the assistant says."""

    text: str
    seconds: float
    """From the question on."""
    input_tokens: int
    output_tokens: int


def answer(claim: Claim, question: str, place: str | None = None) -> Answer:
    """The assistant's answer to an adjuster's question about a claim.

    A call that may have been served stays charged at its estimate. `place` is the idempotency
    key by which a question that was shed keeps its turn. Raises Shed, TooSlow, ProviderTrouble,
    and what else `services.admission` raises.
    """
    began = monotonic()
    request = requests.question(claim, question)
    with services.admission(
        POOL,
        "adjuster",
        input_tokens=request.input_tokens,
        output_tokens=request.max_tokens,
        source=SOURCE,
        tags={"claim": claim.number, "priority": claim.get_priority_display().lower()},
        idempotency_key=place,
    ) as call:
        until = began + SECONDS - LAST_STEPS_SECONDS
        text, used = _read(_ask(call, request, until))
        call.settle(used.input, used.output, used.cached_input)
    return Answer(text, monotonic() - began, used.input, used.output)


def _ask(call: OpenCall, request: Request, until: float) -> bytes:
    """What the provider answers. A call that it didn't serve is given back."""
    client = _client(call)
    if (remaining := until - monotonic()) <= 0:
        call.settle(0, 0, outcome="cancelled")
        raise TooSlow
    create = client.api.messages.with_raw_response.create
    try:
        # The timeout is for each step of the call; the cut is for all of it.
        with client.connection.cut_when(lambda: monotonic() > until):
            content = bytes(create(**request.args, timeout=remaining).http_response.content)
    except anthropic.APIStatusError as error:
        busy = error.status_code in BUSY
        call.settle(0, 0, outcome="rate_limited" if busy else "failed")
        raise ProviderTrouble(f"{error.status_code}: {error.message}") from None
    except anthropic.APIConnectionError as error:
        if isinstance(error.__cause__, httpx2.ConnectError):
            call.settle(0, 0, outcome="cancelled")
        elif monotonic() > until:
            raise TooSlow from None
        raise ProviderTrouble(str(error.__cause__ or error)) from None
    if monotonic() > until:
        raise TooSlow
    return content


def _read(content: bytes) -> tuple[str, Tokens]:
    """The text of an answer, and what it used."""
    try:
        answer = json.loads(content)
        text, used = replies.text_of(answer), usage(answer)
    except ValueError as error:
        raise ProviderTrouble(f"unreadable: {error}") from None
    if used is None or not text:
        raise ProviderTrouble(f"without text or usage: {content!r:.200}")
    return text, used


def _client(call: OpenCall) -> Client:
    try:
        client = client_of(Pool.objects.get(slug=POOL))
    except (TryAgain, GiveUp, Pool.DoesNotExist) as error:
        call.settle(0, 0, outcome="cancelled")
        raise ProviderTrouble(str(error)) from None
    if client.provider != "anthropic":
        call.settle(0, 0, outcome="cancelled")
        raise ProviderTrouble(f"The assistant speaks to Anthropic, not to {client.provider}.")
    return client
