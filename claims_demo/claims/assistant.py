"""The adjuster's assistant: an answer within two seconds in all, or an honest no."""

from dataclasses import dataclass
from time import monotonic

# Here and not when it is first needed: that takes a second, half of what an answer may take.
import anthropic  # noqa: F401

from budget import services
from budget.jobs import llm
from budget.services import OpenCall, Outcome, UnknownPool
from budget.tasks import GiveUp, TryAgain
from claims_demo.claims import ANSWER_SECONDS, POOL, replies, requests
from claims_demo.claims.requests import Request
from claims_demo.models import Claim

LAST_STEPS_SECONDS = 0.1
"""Kept for settling and storing, which come after the answer."""
SOURCE = "claims_demo.claims.assistant.answer"
OUTCOMES: dict[str, Outcome] = {"unreached": "cancelled", "busy": "rate_limited"}
"""What is recorded of a call that the provider didn't serve; `failed` unless it stands here."""


class TooSlow(Exception):
    """The answer didn't come in time."""


class ProviderTrouble(Exception):
    """The provider gave no answer, for a reason of its own."""


class ProviderBusy(ProviderTrouble):
    """It serves nobody just now; `seconds` is how long it asks to be left alone, if it says."""

    def __init__(self, message: str, seconds: float | None) -> None:
        super().__init__(message)
        self.seconds = seconds


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

    A call that may have been served stays charged at its estimate, and so much of the budget's
    time as the ledger takes is not left for the provider. `place` is the idempotency key by
    which a question that was shed keeps its turn. Raises Shed, TooSlow, ProviderTrouble, and
    what else `services.admission` raises.
    """
    began = monotonic()
    until = began + ANSWER_SECONDS - LAST_STEPS_SECONDS
    request = requests.question(claim, question)
    with services.admission(
        POOL,
        "adjuster",
        input_tokens=request.input_tokens,
        output_tokens=request.max_tokens,
        source=SOURCE,
        tags={"claim": claim.number, "priority": claim.get_priority_display().lower()},
        idempotency_key=place,
        wait_seconds=ANSWER_SECONDS,
    ) as call:
        reply = _ask(call, request, until)
        if reply.used is None:
            raise ProviderTrouble(f"without usage: {reply.body!r:.200}")
        call.settle(*reply.used)
        if monotonic() > until:
            raise TooSlow
        text = _text(reply)
    return Answer(text, monotonic() - began, reply.used.input, reply.used.output)


def _ask(call: OpenCall, request: Request, until: float) -> llm.Reply:
    """What the provider answers. A call that it didn't serve is given back."""
    if (remaining := until - monotonic()) <= 0:
        call.settle(0, 0, outcome="cancelled")
        raise TooSlow
    try:
        # The seconds are for each step of the request; the moment is for all of it.
        return llm.ask(POOL, request.args, remaining, lambda: monotonic() > until)
    except (GiveUp, TryAgain, UnknownPool) as error:
        call.settle(0, 0, outcome="cancelled")
        raise ProviderTrouble(str(error)) from None
    except llm.Unanswered as error:
        trouble = error.trouble
    if trouble.kind != "unclear":
        call.settle(0, 0, outcome=OUTCOMES.get(trouble.kind, "failed"))
    elif monotonic() > until:
        raise TooSlow
    if trouble.kind == "busy":
        raise ProviderBusy(trouble.message, trouble.seconds)
    raise ProviderTrouble(trouble.message)


def _text(reply: llm.Reply) -> str:
    try:
        text = replies.text_of(reply.body)
    except replies.UnreadableReply as error:
        raise ProviderTrouble(str(error)) from None
    if not text:
        raise ProviderTrouble(f"without text: {reply.body!r:.200}")
    return text
