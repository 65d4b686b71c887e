"""One request to the LLM of a pool, through its provider's official SDK, and its reply."""

from collections.abc import Callable
from typing import Any, NamedTuple

import httpx2
import msgspec

from budget import services
from budget.jobs.clients import Client, client_of
from budget.jobs.trouble import READERS, Trouble, trouble_of
from budget.models import Pool
from budget.providers.answers import Unreadable
from budget.providers.headers import standing_of
from budget.providers.tokens import Tokens
from budget.services import UnknownPool
from budget.tasks import GiveUp

CONNECT_SECONDS = 10.0


class Reply(NamedTuple):
    """What the provider answered."""

    body: dict[str, Any]
    used: Tokens | None
    """As the answer says; None if it doesn't."""


class Unanswered(Exception):
    """There is no answer; `trouble` says why, and so whether the request may have been served."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.message)
        self.trouble = trouble


def ask(pool: str, args: dict[str, Any], seconds: float, is_unwanted: Callable[[], bool]) -> Reply:
    """Make one request, once, and wait at most so many seconds for each step of it.

    `args` are those of the SDK's `chat.completions.create` or `messages.create`, by the pool's
    provider. As soon as `is_unwanted()`, which is asked four times a second, the provider is
    hung up on. Raises Unanswered; before anything has left also UnknownPool, GiveUp when the
    provider or the arguments don't suit the SDKs, and TryAgain when there is no key.
    """
    found = Pool.objects.filter(slug=pool).first()
    if found is None:
        raise UnknownPool(f"There is no pool {pool!r}.")
    client = client_of(found)
    timeout = httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
    try:
        with client.connection.cut_when(is_unwanted):
            answer = _answer(client, args, timeout)
    except client.sdk.APIError as error:
        _tell(pool, client.provider, getattr(error, "response", None))
        raise Unanswered(trouble_of(client.provider, error)) from None
    _tell(pool, client.provider, answer)
    return _read(client.provider, bytes(answer.content))


def _tell(pool: str, provider: str, answer: httpx2.Response | None) -> None:
    """Tell the ledger what an answer says of the provider's limits."""
    if answer is not None:
        services.tell(
            pool, standing_of(provider, answer.status_code, answer.headers, answer.content)
        )


def _answer(client: Client, args: dict[str, Any], timeout: httpx2.Timeout) -> httpx2.Response:
    resource = (
        client.api.messages if client.provider == "anthropic" else client.api.chat.completions
    )
    try:
        answer: httpx2.Response = resource.with_raw_response.create(
            **args, timeout=timeout
        ).http_response
    except TypeError as error:
        raise GiveUp(f"The {client.provider} SDK doesn't take these arguments: {error}") from None
    return answer


def _read(provider: str, content: bytes) -> Reply:
    try:
        body = msgspec.json.decode(content, type=dict[str, Any])
        return Reply(body, READERS[provider].usage(body))
    except (msgspec.MsgspecError, UnicodeDecodeError, Unreadable) as error:
        words = f"{provider} gave an unreadable answer: {error}"
        raise Unanswered(Trouble("unclear", words)) from None
