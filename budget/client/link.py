"""The connection to the service: small time limits, kept connections, safe after a fork."""

import asyncio
import json
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import httpx2

from budget.client.unreached import unreached

PATH = "/api/v1/"
ERRAND_SECONDS = 5.0
"""For what nobody waits for."""
NEVER_ARRIVED = unreached(httpx2)
UNREACHABLE = (httpx2.ConnectError, httpx2.ConnectTimeout)
DOWN = 500


class NoAnswer(Exception):
    """The service didn't answer, or something else did in its place."""

    def __init__(self, reason: str, perhaps_done: bool = False, unreachable: bool = False) -> None:
        super().__init__(reason)
        self.perhaps_done = perhaps_done
        """Whether what was asked may have been done all the same."""
        self.unreachable = unreachable
        """Whether there is nobody at its address."""


class Reply(NamedTuple):
    """What the service answered."""

    status: int
    headers: Mapping[str, str]
    body: dict[str, Any]


class Link:
    """Sends requests to one service under one key.

    `connect_seconds` bounds how long it takes to be connected.
    """

    def __init__(self, url: str, key: str, connect_seconds: float) -> None:
        self.url = _address(url)
        self._headers = {
            "Authorization": f"Api-Key {_key(key)}",
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
        }
        self._connect = connect_seconds
        self.forget()

    def forget(self) -> None:
        """Let go of all connections without closing them: they are a parent's."""
        self._guard = threading.Lock()
        self._client: httpx2.Client | None = None
        # A client's connections belong to the event loop they were opened in.
        self._clients: WeakKeyDictionary[Any, httpx2.AsyncClient] = WeakKeyDictionary()
        self._users: WeakKeyDictionary[Any, WeakSet[Any]] = WeakKeyDictionary()

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        key: str | None = None,
        seconds: float = ERRAND_SECONDS,
    ) -> Reply:
        """The answer to a request, if it begins, and is whole, so soon. Raises NoAnswer."""
        content, headers, timeout = _content(body), _named(key), self._timeout(seconds)
        end = time.monotonic() + self._connect + seconds
        try:
            with self._connected().stream(
                "POST", path, content=content, headers=headers, timeout=timeout
            ) as answer:
                return _reply(answer, _whole(answer, end))
        except httpx2.HTTPError as error:
            raise _no_answer(error) from None

    async def post_async(
        self,
        user: object,
        path: str,
        body: Mapping[str, Any],
        key: str | None = None,
        seconds: float = ERRAND_SECONDS,
    ) -> Reply:
        """As `post`, in the running event loop, on behalf of a user who will `leave` it."""
        client = self._connected_async(user)
        content, headers, timeout = _content(body), _named(key), self._timeout(seconds)
        try:
            async with asyncio.timeout(self._connect + seconds):
                answer = await client.post(path, content=content, headers=headers, timeout=timeout)
        except TimeoutError:
            raise _dripping() from None
        except httpx2.HTTPError as error:
            raise _no_answer(error) from None
        return _reply(answer, answer.content)

    async def leave(self, user: object) -> None:
        """Close the running event loop's connections once the last of their users has left."""
        loop = asyncio.get_running_loop()
        users = self._users.get(loop, WeakSet())
        users.discard(user)
        if not users and loop in self._clients:
            await self._clients.pop(loop).aclose()

    def close(self) -> None:
        """Close this process's connections outside of event loops."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _connected(self) -> httpx2.Client:
        if self._client is None:
            with self._guard:
                if self._client is None:
                    self._client = httpx2.Client(**self._options())
        return self._client

    def _connected_async(self, user: object) -> httpx2.AsyncClient:
        loop = asyncio.get_running_loop()
        # A loop that nobody left before it ended can't be waited for to be collected: its client
        # holds it.
        for ended in [known for known in self._clients if known.is_closed()]:
            del self._clients[ended]
        self._users.setdefault(loop, WeakSet()).add(user)
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = httpx2.AsyncClient(**self._options())
        return client

    def _timeout(self, seconds: float) -> httpx2.Timeout:
        return httpx2.Timeout(seconds, connect=self._connect)

    def _options(self) -> dict[str, Any]:
        return {
            "base_url": self.url + PATH,
            "headers": self._headers,
            # Neither a proxy nor a .netrc of the provider's stands between two of our own.
            "trust_env": False,
            # As many as the transports have to the provider: nobody queues for one here.
            "limits": httpx2.Limits(max_connections=1000, max_keepalive_connections=100),
        }


def _address(url: str) -> str:
    parsed = httpx2.URL(url) if isinstance(url, str) else None
    if parsed is not None and parsed.userinfo:
        raise ValueError("url: leave out user and password: they would be sent instead of the key.")
    if parsed is None or parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError(
            f"url: {url!r} isn't the address of a Token Budget service; "
            "write for example https://budget.internal."
        )
    # As it stands in examples of the API.
    return url.rstrip("/").removesuffix(PATH.rstrip("/"))


def _key(key: str) -> str:
    # What isn't fit for a header would stand in an error, and that in a log.
    fit = isinstance(key, str) and key.isascii() and key.isprintable() and " " not in key
    if not key or not fit:
        raise ValueError("key: give the API key as `manage.py create_api_key` printed it.")
    return key


def _content(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _named(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Idempotency-Key": key}


def _whole(response: httpx2.Response, end: float) -> bytes:
    """All of an answer's body: each part may come in time, and yet the whole not."""
    parts = []
    for part in response.iter_bytes():
        parts.append(part)
        if time.monotonic() > end:
            raise _dripping()
    return b"".join(parts)


def _reply(response: httpx2.Response, content: bytes) -> Reply:
    """What was answered. Raises NoAnswer for anything that isn't the service's own JSON."""
    if response.status_code >= DOWN:
        raise NoAnswer(f"it answered {response.status_code}")
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        kind = response.headers.get("content-type", "nothing").partition(";")[0]
        raise NoAnswer(f"it answered {response.status_code} with {kind} instead of JSON")
    return Reply(response.status_code, response.headers, body)


def _dripping() -> NoAnswer:
    return NoAnswer("its answer came too slowly", perhaps_done=True)


def _no_answer(error: httpx2.HTTPError) -> NoAnswer:
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    return NoAnswer(
        said,
        perhaps_done=not isinstance(error, NEVER_ARRIVED),
        unreachable=isinstance(error, UNREACHABLE),
    )
