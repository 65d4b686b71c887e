"""What a provider's answer says a call used."""

import json
import re
from typing import Any

from budget.client.call import MOST_TOKENS, Api, Call
from budget.providers import anthropic, openai
from budget.providers.answers import Unreadable
from budget.providers.tokens import Tokens

REPORTED = {
    "chat": ("prompt_tokens", "completion_tokens"),
    "completions": ("prompt_tokens", "completion_tokens"),
    "responses": ("input_tokens", "output_tokens"),
    "messages": ("input_tokens", "output_tokens"),
    "embeddings": ("prompt_tokens",),
}
"""Without which a report says nothing."""


TAIL = 8_192
"""Bytes at the end of an answer of embeddings in which it reports."""
LAST_REPORT = re.compile(rb'"usage"\s*:\s*(\{[^{}]*\})(?!.*"usage")', re.DOTALL)


def used_of(call: Call, body: bytes) -> Tokens | None:
    """What an answer in JSON reports; None if it reports nothing, or nonsense.

    Of an answer of embeddings only the end is looked at: the rest are megabytes of numbers.
    """
    if call.api == "embeddings":
        report = LAST_REPORT.search(body[-TAIL:])
        body = b'{"usage": %s}' % report[1] if report else b""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return used_in(call.api, answer)


def used_in(api: Api, answer: Any) -> Tokens | None:
    """What an answer, or an event of a stream, reports; None if nothing, or nonsense."""
    counts = answer.get("usage") if isinstance(answer, dict) else None
    if not isinstance(counts, dict) or any(counts.get(name) is None for name in REPORTED[api]):
        return None
    provider = anthropic if api == "messages" else openai
    try:
        used = provider.usage(answer)
    except Unreadable:
        return None
    if used is None or used.cached_input > used.input or max(used) > MOST_TOKENS:
        return None
    return used
