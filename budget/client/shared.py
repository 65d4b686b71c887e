"""The gates that a process's transports and budgets share."""

import os

from budget.client.service import Service
from budget.client.verdict import Choice

URL_VARIABLE = "TOKEN_BUDGET_URL"
KEY_VARIABLE = "TOKEN_BUDGET_KEY"

_shared: dict[tuple[str, str, Choice], Service] = {}


def service_of(url: str | None, key: str | None, when_unavailable: Choice = "shed") -> Service:
    """This process's one gate to a service; address and key from the environment unless given.

    Raises ValueError if neither says.
    """
    url, key = url or os.environ.get(URL_VARIABLE), key or os.environ.get(KEY_VARIABLE)
    if not url:
        raise ValueError(f"url: give the address of the service, or set {URL_VARIABLE}.")
    if not key:
        raise ValueError(f"key: give the API key of the service, or set {KEY_VARIABLE}.")
    name = (url, key, when_unavailable)
    if name not in _shared:
        _shared.setdefault(name, Service(url, key, when_unavailable=when_unavailable))
    return _shared[name]
