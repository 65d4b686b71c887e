"""OpenAI: cached input counts in full.

Its limiter takes the larger of `max_tokens` and its own estimate when a request arrives,
so a caller's estimated output has to be the `max_tokens` it sends.
"""

from collections.abc import Mapping
from typing import Any

from budget.providers import values
from budget.providers.answers import (
    REFUSALS,
    Row,
    Unreadable,
    error_of,
    message_of,
    storable,
    whole,
)
from budget.providers.standing import ProviderLimit, Unit
from budget.providers.tokens import Tokens

SPEND_CAPS = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
NEVER_RUN = {"batch_expired", "batch_cancelled"}
"""What a batch's error file says of requests that the provider didn't get to."""
LIMITS: dict[str, Unit] = {"requests": "requests", "tokens": "total_tokens"}
"""What its headers call its limits: tokens are input and output together."""
ENDPOINT = "/v1/chat/completions"
RESPONSES = ("input_tokens", "output_tokens")
OTHERS = ("prompt_tokens", "completion_tokens")
"""How tokens are named in the answers of its APIs."""


def counted(tokens: Tokens) -> Tokens:
    """All input and all output."""
    return Tokens(tokens.input, tokens.output)


def usage(answer: dict[str, Any]) -> Tokens | None:
    """What a call used, as its answer reports it; None if it doesn't. Raises Unreadable.

    Responses count `input_tokens` and `output_tokens`, everything else `prompt_tokens` and
    `completion_tokens`, of which embeddings have none.
    """
    counts = answer.get("usage")
    if not isinstance(counts, dict):
        return None
    into, out_of = OTHERS if OTHERS[0] in counts else RESPONSES
    details = counts.get(f"{into}_details")
    cached = whole(details, "cached_tokens") if isinstance(details, dict) else 0
    return Tokens(whole(counts, into), whole(counts, out_of), cached)


def limits(headers: Mapping[str, str]) -> list[ProviderLimit]:
    """How its limits stand, by the headers of any answer, their names in lower case."""
    return [
        limit
        for name, unit in LIMITS.items()
        for limit in values.limit(
            unit,
            headers.get(f"x-ratelimit-limit-{name}"),
            headers.get(f"x-ratelimit-remaining-{name}"),
            values.span(headers.get(f"x-ratelimit-reset-{name}")),
        )
    ]


def out_of_money(body: object) -> bool:
    """Whether an error says that the account's money is used up: waiting doesn't help."""
    error = error_of(body)
    return bool(SPEND_CAPS & {str(error.get("code")), str(error.get("type"))})


def unknown_model(body: object) -> bool:
    """Whether an error says that there is no such model, or none for this account."""
    return error_of(body).get("code") == "model_not_found"


def batch_line(custom_id: str, request: str) -> str:
    """One line of a batch's input file; `request` is JSON."""
    frame = f'"custom_id":"{custom_id}","method":"POST","url":"{ENDPOINT}"'
    return f'{{{frame},"body":{request}}}\n'


def batch_row(row: dict[str, Any]) -> Row:
    """One line of a batch's output or error file. Raises Unreadable."""
    custom_id = row.get("custom_id")
    if not isinstance(custom_id, str):
        raise Unreadable("A row of the results has no custom_id.")
    response, error = row.get("response"), row.get("error")
    if isinstance(response, dict) and response.get("status_code"):
        return _answered(custom_id, response)
    if isinstance(error, dict):
        words = message_of(error) or storable(str(error.get("code")))
        if error.get("code") in NEVER_RUN:
            return Row(custom_id, "sent_away", error=words)
        return Row(custom_id, "failed", error=words, final=True)
    raise Unreadable("A row of the results has neither a response nor an error.")


def _answered(custom_id: str, response: dict[str, Any]) -> Row:
    status, body = response["status_code"], response.get("body")
    if status == 200 and isinstance(body, dict):
        return Row(custom_id, "succeeded", body=body)
    final = unknown_model(body) or (isinstance(status, int) and status in REFUSALS)
    return Row(custom_id, "failed", error=f"{status}: {message_of(body)}", final=final)
