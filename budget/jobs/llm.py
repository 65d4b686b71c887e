"""The ready task: one request to the LLM of the pool, through its provider's official SDK.

Its arguments are the SDK call's own: those of `chat.completions.create` on a pool of OpenAI,
of `messages.create` on one of Anthropic. The result is the provider's answer.

A cancelled request is hung up on, so that a provider that notices stops producing output;
what it has used by then is unknown, and the estimate stays.
"""

from typing import Any

from budget.jobs.replies import Reply, Unanswered, ask
from budget.jobs.trouble import Trouble
from budget.tasks import Attempt, BadArguments, GiveUp, Task, TryAgain, register

__all__ = ["NAME", "Reply", "Trouble", "Unanswered", "ask", "request"]

NAME = "budget.jobs.llm.request"
SHORTEST_SECONDS = 1.0
"""What a request is given even when its time is all but over."""
SDK_OPTIONS = {"timeout", "extra_headers", "extra_query", "extra_body"}
"""Arguments of the SDKs that don't belong to the request."""


def request(attempt: Attempt, *, model: str, messages: list[Any], **others: Any) -> Any:
    """Make one request and give back the provider's answer.

    1. Away, too busy, or not to be had with this key or at this address: TryAgain, and the
       provider's own wait is kept. What the operator mends must not cost the jobs that wait.
    2. Refused, or no money left: GiveUp with the provider's words, and nothing was used.
    3. Gone without an answer: a failure; it may have been served, so the estimate stays.
    """
    if attempt.is_cancelled:
        raise TryAgain("Cancelled before its request left.")
    args = {"model": model, "messages": messages, **others}
    seconds = max(SHORTEST_SECONDS, attempt.remaining_seconds)
    try:
        reply = ask(attempt.pool, args, seconds, lambda: attempt.is_cancelled)
    except Unanswered as error:
        if attempt.is_cancelled:
            raise GiveUp("Cancelled while it ran: the provider was hung up on.") from None
        raise _consequence(attempt, error.trouble) from None
    except (GiveUp, TryAgain):
        attempt.used(0, 0)
        raise
    if reply.used is not None:
        attempt.used(*reply.used)
    return reply.body


def batch_model(args: dict[str, Any]) -> str:
    """The model of a request; a batch endpoint takes any. Raises BadArguments."""
    if not isinstance(args["model"], str) or not args["model"]:
        raise BadArguments("must name the model as a text.")
    if not isinstance(args["messages"], list):
        raise BadArguments("must hold the messages as a list.")
    if args.get("stream"):
        raise BadArguments("asks for a stream, which nobody would read: leave `stream` out.")
    if unfit := SDK_OPTIONS & set(args):
        raise BadArguments(f"may only hold what the provider takes: leave out {min(unfit)}.")
    return args["model"]


def _consequence(attempt: Attempt, trouble: Trouble) -> Exception:
    if trouble.kind == "unclear":
        return RuntimeError(trouble.message)
    attempt.used(0, 0)
    if trouble.kind in ("refused", "money"):
        return GiveUp(trouble.message)
    return TryAgain(trouble.message, trouble.seconds)


register(Task(NAME, request, batch_model))
