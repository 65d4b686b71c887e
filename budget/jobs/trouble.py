"""What an exception of an official SDK means for the request that raised it."""

from types import ModuleType
from typing import Literal, NamedTuple

import httpx2

from budget.providers import anthropic, openai
from budget.providers.answers import REFUSALS, message_of
from budget.providers.values import wait

READERS: dict[str, ModuleType] = {"anthropic": anthropic, "openai": openai}
"""What reads a provider's answers."""

Kind = Literal["unreached", "busy", "failing", "account", "money", "missing", "refused", "unclear"]
"""`unreached`: it never arrived whole. `busy`: the provider took nothing now. `failing`: the
provider, or something before it, broke down. `account`: the key, its rights or the address are
wrong. `money`: there is none left. `missing`: nothing of that name is there, perhaps because
the address is wrong. `refused`: the request itself is at fault. `unclear`: it arrived, and no
answer was read.

Only `refused` tells about the request: after all others but `money` it may be fine later."""

BUSY = {429, 529}
FAILING = {408, 409}
"""Besides those from 500 on."""
MISSING = {404, 410}
UNREACHED = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.WriteError,
    httpx2.WriteTimeout,
    httpx2.UnsupportedProtocol,
    httpx2.ProxyError,
)


class Trouble(NamedTuple):
    """Why there is no answer."""

    kind: Kind
    message: str
    seconds: float | None = None
    """How long the provider asks to wait."""


def trouble_of(provider: str, error: Exception) -> Trouble:
    """What an SDK's `APIError` or an httpx2 error means."""
    response = getattr(error, "response", None)
    if response is None:
        cause = error.__cause__ if isinstance(error.__cause__, httpx2.HTTPError) else error
        said = f"{error}: {cause}" if str(cause) not in ("", str(error)) else str(error)
        if isinstance(cause, UNREACHED):
            return Trouble("unreached", f"{provider} could not be reached: {said}")
        return Trouble("unclear", f"{provider} gave no answer: {said or type(cause).__name__}")
    body = getattr(error, "body", None)
    status = response.status_code
    seconds = wait(response.headers)
    words = message_of(body) or response.reason_phrase or "no reason given"
    if READERS[provider].out_of_money(body):
        return Trouble("money", f"{provider} has used up its money ({status}): {words}")
    kind = "refused" if READERS[provider].unknown_model(body) else _kind(status)
    return Trouble(kind, f"{provider} answered {status}: {words}", seconds)


def _kind(status: int) -> Kind:
    if status in BUSY:
        return "busy"
    if status in FAILING or status >= 500:
        return "failing"
    if status in REFUSALS:
        return "refused"
    if status in MISSING:
        return "missing"
    # A redirect isn't followed; whoever set the base URL has to.
    return "account" if status >= 300 else "unclear"
