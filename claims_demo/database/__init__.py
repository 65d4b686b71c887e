"""Which PostgreSQL the project uses. As a Django backend it is named `claims_demo.database`."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

SCHEMES = {"postgres", "postgresql"}
CONNECT_SECONDS = 5
"""How long to wait for a server that does not answer; `?connect_timeout=` says otherwise."""

WEB_SESSION = "-c lock_timeout=3s -c statement_timeout=30s"
"""A table that somebody locks must not take all threads of the web process with it."""


def configuration(data_dir: Path, pooled: bool) -> dict[str, Any]:
    """The `DATABASES` entry: `DATABASE_URL` when set, else the embedded server in `data_dir`.

    `pooled` keeps a pool of connections in the process, each looked at before it is used
    again: for the web process only, because a pool must not cross a fork.
    """
    url = os.environ.get("DATABASE_URL", "")
    entry: dict[str, Any] = _from_url(url) if url else {"NAME": "postgres", "USER": "postgres"}
    entry["ENGINE"] = "claims_demo.database"
    options = entry.setdefault("OPTIONS", {})
    if url:
        options.setdefault("connect_timeout", CONNECT_SECONDS)
    else:
        entry["EMBEDDED"] = str(data_dir)
    if pooled:
        options["pool"] = {"min_size": 2, "max_size": 40, "timeout": 5}
        options["options"] = f"{options.get('options', '')} {WEB_SESSION}".strip()
        entry["CONN_HEALTH_CHECKS"] = True
    return entry


def _from_url(url: str) -> dict[str, Any]:
    scheme = urlsplit(url).scheme
    if scheme not in SCHEMES:
        raise ImproperlyConfigured(
            f"DATABASE_URL names {repr(scheme) if scheme else 'no engine'}, but the ledger locks "
            "rows as only PostgreSQL 16 or newer does. Use postgresql://user:password@host/name, "
            "or unset DATABASE_URL for the embedded server."
        )
    try:
        return dict(dj_database_url.parse(url))
    except ValueError as error:
        raise ImproperlyConfigured(f"DATABASE_URL cannot be read: {error}.") from error
