"""Anthropic: cache reads are free of the input limit, cache writes are not."""

from collections.abc import Mapping
from typing import Any

from budget.providers import values
from budget.providers.answers import Row, Unreadable, error_of, message_of, storable, whole
from budget.providers.standing import ProviderLimit, Unit
from budget.providers.tokens import Tokens

NEVER_RUN = {"expired", "canceled"}
LIMITS: dict[str, Unit] = {
    "requests": "requests",
    "tokens": "total_tokens",
    "input-tokens": "input_tokens",
    "output-tokens": "output_tokens",
}
"""What its headers call its limits."""
FINAL = {"invalid_request_error", "not_found_error", "request_too_large"}
"""Errors that another attempt would meet, too."""


def counted(tokens: Tokens) -> Tokens:
    """Input without cache reads, and output as really produced."""
    return Tokens(tokens.input - tokens.cached_input, tokens.output)


def usage(answer: dict[str, Any]) -> Tokens | None:
    """What a call used, as its answer reports it; None if it doesn't. Raises Unreadable.

    Anthropic reports three disjoint parts of the input: plain, written to and read from a cache.
    """
    counts = answer.get("usage")
    if not isinstance(counts, dict):
        return None
    cached = whole(counts, "cache_read_input_tokens")
    written = whole(counts, "cache_creation_input_tokens")
    total = whole(counts, "input_tokens") + written + cached
    return Tokens(total, whole(counts, "output_tokens"), cached)


def limits(headers: Mapping[str, str]) -> list[ProviderLimit]:
    """How its limits stand, by the headers of any answer, their names in lower case."""
    return [
        limit
        for name, unit in LIMITS.items()
        for limit in values.limit(
            unit,
            headers.get(f"anthropic-ratelimit-{name}-limit"),
            headers.get(f"anthropic-ratelimit-{name}-remaining"),
            values.until(headers, headers.get(f"anthropic-ratelimit-{name}-reset")),
        )
    ]


def out_of_money(body: object) -> bool:
    """Whether an error says that the account's money is used up: waiting doesn't help."""
    error = error_of(body)
    details = error.get("details")
    code = str(details.get("error_code")) if isinstance(details, dict) else ""
    low = "credit balance is too low" in message_of(body)
    return low or error.get("type") == "billing_error" or "spend_limit" in code


def unknown_model(body: object) -> bool:
    """Whether an error says that there is no such model, or none for this account."""
    error = error_of(body)
    return error.get("type") == "not_found_error" and message_of(body).startswith("model:")


def batch_row(row: dict[str, Any]) -> Row:
    """One line of a batch's results. Raises Unreadable."""
    custom_id, result = row.get("custom_id"), row.get("result")
    if not isinstance(custom_id, str) or not isinstance(result, dict):
        raise Unreadable("A row of the results has no custom_id or no result.")
    kind, message = result.get("type"), result.get("message")
    if kind == "succeeded" and isinstance(message, dict):
        return Row(custom_id, "succeeded", body=message)
    if kind == "errored":
        error = error_of(error_of(result))
        words = message_of(error) or storable(str(error.get("type")))
        return Row(custom_id, "failed", error=words, final=error.get("type") in FINAL)
    if kind in NEVER_RUN:
        return Row(custom_id, "sent_away", error=f"The provider let it be {kind}.")
    raise Unreadable(f"A row of the results is {kind!r}.")
