"""The adjuster's assistant: an answer within two seconds in all, or an honest no."""

import logging
from dataclasses import dataclass
from time import monotonic

# Here and not when it is first needed: that takes a second, half of what an answer may take.
import anthropic

from budget import services
from budget.jobs.clients import Client, client_of
from budget.models import Pool
from budget.services import OpenCall
from budget.tasks import GiveUp, TryAgain
from claims_demo.claims import POOL, replies, requests
from claims_demo.claims.replies import UnreadableReply
from claims_demo.claims.requests import Request
from claims_demo.models import Claim

SECONDS = 2.0
"""What an answer may take, from the question to the page."""
LAST_STEPS_SECONDS = 0.1
"""Kept for settling and storing, which come after the answer."""
SOURCE = "claims_demo.claims.assistant.answer"

logger = logging.getLogger(__name__)


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


def answer(claim: Claim, question: str) -> Answer:
    """The assistant's answer to an adjuster's question about a claim.

    Raises Shed, TooSlow, ProviderTrouble, and what else `services.admission` raises.
    """
    began = monotonic()
    request = requests.question(claim, question)
    with services.admission(
        POOL,
        "adjuster",
        input_tokens=request.input_tokens,
        output_tokens=request.max_tokens,
        deadline_ms=int(SECONDS * 1000),
        source=SOURCE,
        tags={"claim": claim.number, "priority": claim.get_priority_display().lower()},
    ) as call:
        text, input_tokens, output_tokens = _ask(call, request, began + SECONDS)
        call.settle(input_tokens, output_tokens)
    return Answer(text, monotonic() - began, input_tokens, output_tokens)


def _ask(call: OpenCall, request: Request, until: float) -> tuple[str, int, int]:
    """The text and the tokens it took. What was not used is given back."""
    client = _client(call)
    remaining = until - LAST_STEPS_SECONDS - monotonic()
    if remaining <= 0:
        call.settle(0, 0, outcome="cancelled")
        raise TooSlow
    try:
        with client.connection.cut_when(lambda: monotonic() > until):
            message = client.api.messages.create(**request.args, timeout=remaining)
    except anthropic.APIStatusError as error:
        # The provider bills nothing for what it turns down.
        busy = error.status_code in (429, 529)
        call.settle(0, 0, outcome="rate_limited" if busy else "failed")
        raise ProviderTrouble(f"{error.status_code}: {error.message}") from None
    except anthropic.APIConnectionError as error:
        if isinstance(error, anthropic.APITimeoutError) or monotonic() > until:
            # It may have been served: the estimate stays.
            raise TooSlow from None
        raise ProviderTrouble(str(error.__cause__ or error)) from None
    try:
        text = replies.text_of(message.to_dict())
    except UnreadableReply as error:
        raise ProviderTrouble(str(error)) from None
    return text, message.usage.input_tokens, message.usage.output_tokens


def _client(call: OpenCall) -> Client:
    try:
        client = client_of(Pool.objects.get(slug=POOL))
    except (TryAgain, GiveUp) as error:
        call.settle(0, 0, outcome="cancelled")
        raise ProviderTrouble(str(error)) from None
    if client.provider != "anthropic":
        call.settle(0, 0, outcome="cancelled")
        raise ProviderTrouble(f"The assistant speaks to Anthropic, not to {client.provider}.")
    return client
