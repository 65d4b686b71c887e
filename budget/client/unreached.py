"""Errors of an HTTP library after which the other side can't have seen the whole request."""

from types import ModuleType

NAMES = (
    "ConnectError",
    "ConnectTimeout",
    "PoolTimeout",
    "WriteError",
    "WriteTimeout",
    "UnsupportedProtocol",
    "LocalProtocolError",
    "ProxyError",
)


def unreached(module: ModuleType) -> tuple[type[Exception], ...]:
    """Those of httpx2 or httpx."""
    return tuple(getattr(module, name) for name in NAMES)
