"""The official SDK's client of a pool's provider.

One per thread, account and address, kept for the life of the process: connections are reused,
and none is shared with a forked child or with another thread.
"""

import os
from importlib import import_module
from threading import get_ident
from types import ModuleType
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError

from budget import conf
from budget.jobs.connection import Connection
from budget.models import Pool
from budget.models.address import provider_address
from budget.tasks import GiveUp, TryAgain

KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
CLASSES = {"openai": "OpenAI", "anthropic": "Anthropic"}


class Unsupported(GiveUp):
    """There is no client for that provider."""


class NotConfigured(TryAgain):
    """What it takes to reach the provider isn't there yet; the message says what to do."""


class Client(NamedTuple):
    """A way to a provider."""

    provider: str
    sdk: ModuleType
    api: Any
    """`openai.OpenAI` or `anthropic.Anthropic`."""
    connection: Connection


_clients: dict[tuple[Any, ...], Client] = {}


def client_of(pool: Pool) -> Client:
    """This thread's client of a pool's provider. Raises Unsupported, NotConfigured."""
    if pool.provider not in CLASSES:
        raise Unsupported(
            f"There is no client for the provider {pool.provider!r} of the pool {pool.slug}: "
            "give it the provider openai or anthropic and the base URL of a gateway that "
            "speaks that way, or write a task of your own."
        )
    key = _api_key(pool)
    instead = conf.provider_base_urls().get(pool.provider)
    base_url = instead or pool.base_url
    # A forked child has another process id, so that it makes connections of its own.
    name = (os.getpid(), get_ident(), pool.provider, base_url, key)
    if name not in _clients:
        if not instead:
            _check_address(pool)
        _clients[name] = _connect(pool.provider, base_url, key)
    return _clients[name]


def _connect(provider: str, base_url: str, key: str) -> Client:
    sdk = _sdk(provider)
    connection = Connection()
    api = getattr(sdk, CLASSES[provider])(
        api_key=key,
        base_url=base_url or None,
        # A job goes back to its queue instead, where its tokens are counted.
        max_retries=0,
        # Not sent on to wherever an answer points: Anthropic's key would go along.
        http_client=sdk.DefaultHttpxClient(
            follow_redirects=False, event_hooks={"request": [connection.follow]}
        ),
    )
    return Client(provider, sdk, api, connection)


def _check_address(pool: Pool) -> None:
    """Once more than at the save, which raw SQL and a narrowed list of hosts get past."""
    try:
        if pool.base_url:
            provider_address(pool.base_url)
    except ValidationError as error:
        raise NotConfigured(f"The base URL of the pool {pool.slug}: {error.messages[0]}") from None


def _sdk(provider: str) -> ModuleType:
    try:
        return import_module(provider)
    except ImportError:
        raise NotConfigured(
            f"The package {provider} isn't installed here: install token-budget[providers]."
        ) from None


def _api_key(pool: Pool) -> str:
    variable = KEY_VARIABLES[pool.provider]
    key = conf.provider_keys().get(pool.slug) or os.environ.get(variable)
    if not key:
        raise NotConfigured(
            f"The pool {pool.slug} has no API key here: set {variable} in the environment, "
            "or name the pool in the setting BUDGET_PROVIDER_KEYS."
        )
    return key
