"""What a provider's answer says, in words that fit every provider."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

LONGEST_MESSAGE = 500
REFUSALS = {400, 413, 422}
"""Statuses that find fault with the request itself: sent again, it would be refused again.

Every other one may be the account's, the address's or the provider's."""


class Row(NamedTuple):
    """What became of one request of a batch."""

    custom_id: str
    ending: Literal["succeeded", "failed", "sent_away"]
    """`sent_away` if the provider never ran it."""
    body: dict[str, Any] | None = None
    """The provider's answer to the request, if it succeeded."""
    error: str = ""
    final: bool = False
    """After `failed`: the same request would fail again."""


class Unreadable(ValueError):
    """Not what the provider's documentation says it answers."""


def error_of(body: object) -> dict[str, Any]:
    """The error within an error body, whether or not it is wrapped; empty if there is none."""
    if not isinstance(body, dict):
        return {}
    inner = body.get("error", body)
    return inner if isinstance(inner, dict) else {"message": inner}


def message_of(body: object) -> str:
    """What an error body says, for people."""
    message = error_of(body).get("message") or (body if isinstance(body, str) else "")
    return storable(str(message)).strip()[:LONGEST_MESSAGE]


def storable(text: str) -> str:
    """Without what no database stores: NUL, and halves of characters."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def whole(counts: Mapping[str, Any], name: str) -> int:
    """A count of tokens; 0 if it is missing. Raises Unreadable."""
    value = counts.get(name)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Unreadable(f"{name} should be a number of tokens, and is {value!r}.")
    return value
