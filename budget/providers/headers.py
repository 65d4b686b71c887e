"""What a provider's answer says of its account's limits: its headers, and an error's body."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Literal

from budget.providers import anthropic, openai
from budget.providers.standing import ProviderLimit, Standing
from budget.providers.values import plain, wait

_LIMITS: dict[str, Callable[[Mapping[str, str]], list[ProviderLimit]]] = {
    "anthropic": anthropic.limits,
    "azure": openai.limits,
    "openai": openai.limits,
}
_OUT_OF_MONEY: dict[str, Callable[[object], bool]] = {
    "anthropic": anthropic.out_of_money,
    "azure": openai.out_of_money,
    "openai": openai.out_of_money,
}
REFILL_STEADILY = frozenset({"anthropic", "openai"})
"""Providers whose limits are token buckets: what is missing of one comes back bit by bit."""

BUSY = frozenset({429, 529})
AWAY = 503
"""Busy, too, if it says for how long."""


def standing_of(provider: str, status: int, headers: Mapping[str, str], body: bytes) -> Standing:
    """What an answer says of its account's limits. Of an unknown provider: whether it is busy.

    `body` may be empty, or cut short; nonsense says nothing. Raises nothing.
    """
    headers = plain(headers)
    limits = _LIMITS[provider](headers) if provider in _LIMITS else []
    seconds = wait(headers)
    refusal = _refusal(provider, status, seconds, body)
    return Standing(tuple(limits), refusal, seconds if refusal == "busy" else None)


def _refusal(
    provider: str, status: int, seconds: float | None, body: bytes
) -> Literal["", "busy", "money"]:
    out_of_money = _OUT_OF_MONEY.get(provider)
    if status >= 400 and out_of_money is not None and out_of_money(_json(body)):
        return "money"
    busy = status in BUSY or (status == AWAY and seconds is not None)
    return "busy" if busy else ""


def _json(body: bytes) -> object:
    with suppress(ValueError, RecursionError):
        return json.loads(body)
    return None
