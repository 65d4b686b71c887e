"""What Django checks before a project runs the app: that its database can carry the ledger."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error
from django.db import connections

OLDEST = 16
"""Major version of PostgreSQL that the ledger's SQL needs at least."""


def engine(**_: Any) -> list[CheckMessage]:
    """Refuses another engine than PostgreSQL, without a connection."""
    vendor = connections["default"].vendor
    if vendor == "postgresql":
        return []
    return [
        Error(
            f"The default database is {vendor}, but the budget locks rows as only PostgreSQL does.",
            hint=f"Let DATABASES['default'] be PostgreSQL {OLDEST} or newer.",
            id="budget.E001",
        )
    ]


def version(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Refuses an older server, where the database may be asked, as before `migrate`."""
    connection = connections["default"]
    if "default" not in (databases or ()) or connection.vendor != "postgresql":
        return []
    connection.ensure_connection()
    found = connection.connection.info.server_version // 10_000
    if found >= OLDEST:
        return []
    return [
        Error(
            f"The default database is PostgreSQL {found}, which is too old for the budget.",
            hint=f"Use PostgreSQL {OLDEST} or newer.",
            id="budget.E002",
        )
    ]
