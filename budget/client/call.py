"""What a request asks its provider for, as far as it counts against limits."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from budget.client.content import Content
from budget.client.tokenizer import exact_tokens

Api = Literal["chat", "completions", "responses", "messages", "embeddings"]

PATHS: dict[str, Api] = {
    "/chat/completions": "chat",
    "/completions": "completions",
    "/responses": "responses",
    "/responses/compact": "responses",
    "/messages": "messages",
    "/embeddings": "embeddings",
}
"""How the path of a metered request ends, whatever a gateway puts before it."""
UNMETERED = re.compile(r"/threads/[^/]+/messages$|/batches(/|$)")
DEPLOYMENT = re.compile(r"/deployments/([^/]+)/")
"""Where Azure names the model."""

CAPS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
MOST_TOKENS = 1_000_000_000
MOST_CHOICES = 1000
LONGEST_MODEL = 200


@dataclass(frozen=True, slots=True)
class Call:
    """A request to a provider, before it is sent."""

    api: Api
    model: str
    """As the caller names it; "" if it isn't known."""
    text_bytes: int
    """UTF-8 bytes of all text the model gets to see."""
    fixed_input_tokens: int
    """Tokens besides the text: images, audio, documents, tokens sent as such, frames."""
    output_cap: int | None
    """The most tokens a choice may have, if the caller says so."""
    choices: int
    """How many answers are asked for."""
    text_tokens: int | None = None
    """Exactly what the text comes to, where there is a tokenizer."""
    goes_on: bool = False
    """Whether the provider goes on with it though nobody reads its answer."""


def api_of(method: str, path: str) -> Api | None:
    """What a request calls; None if it is nothing that counts, such as a GET or an upload."""
    route = _route(path)
    if method.upper() != "POST" or UNMETERED.search(route):
        return None
    ends = [end for end in PATHS if route.endswith(end)]
    return PATHS[max(ends, key=len)] if ends else None


def call_of(api: Api, path: str, body: bytes) -> Call:
    """The call that a request to a metered path is.

    One that can't be read as JSON, whatever its content type says, is a call all the same: all
    of its body counts as text.
    """
    route = _route(path)
    request = _read(body)
    if request is None:
        return Call(api, "", len(body), 0, None, 1)
    model = _model(request, route)
    content = Content(api, model)
    try:
        content.add_request(request)
    except RecursionError:
        return Call(api, model, len(body), 0, None, 1)
    return _call(api, model, request, content)


def _call(api: Api, model: str, request: Mapping[str, Any], content: Content) -> Call:
    caps = [cap for name in CAPS if (cap := _count(request.get(name))) is not None]
    choices = max(_count(request.get(name)) or 1 for name in ("n", "best_of"))
    text_bytes = content.text_bytes
    return Call(
        api=api,
        model=model,
        text_bytes=text_bytes,
        fixed_input_tokens=content.fixed_tokens,
        output_cap=max(caps, default=None),
        choices=min(choices, MOST_CHOICES),
        text_tokens=exact_tokens(model, content.texts, text_bytes),
        goes_on=request.get("background") is True,
    )


def _route(path: str) -> str:
    return path.partition("?")[0].rstrip("/")


def _read(body: bytes) -> dict[str, Any] | None:
    """The request's fields; None if it is no JSON object."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return request if isinstance(request, dict) else None


def _model(request: Mapping[str, Any], route: str) -> str:
    model = request.get("model")
    if isinstance(model, str) and model:
        return model[:LONGEST_MODEL]
    deployment = DEPLOYMENT.search(route)
    return deployment[1][:LONGEST_MODEL] if deployment else ""


def _count(value: object) -> int | None:
    """A number of tokens or choices from 1; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(min(value, MOST_TOKENS)) if value >= 1 else None
