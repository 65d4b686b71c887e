"""The pool as it stands, looked at every second, for as long as there is a database."""

from time import monotonic
from typing import Any

from django.db import DatabaseError, connection

from budget import services
from budget.services import LedgerUnavailable
from claims_demo.processes import ProcessFailed

AWAY_SECONDS = 30.0
"""A database that comes back sooner than that was only restarted, or a connection to it cut."""


class Lookout:
    """Looks at one pool; a lost connection is made anew by the next look."""

    def __init__(self, slug: str) -> None:
        self._slug = slug
        self._seen: dict[str, Any] | None = None
        self._away_since: float | None = None

    def look(self) -> dict[str, Any] | None:
        """The body of `GET /pools/{slug}`, as it was while the database is away.

        None once an edit has taken the pool. Raises ProcessFailed when the database has been
        away for `AWAY_SECONDS`.
        """
        try:
            self._seen = self._now()
        except (DatabaseError, LedgerUnavailable) as error:
            connection.close()
            self._wait_for_database(error)
        else:
            self._away_since = None
        return self._seen

    def _now(self) -> dict[str, Any] | None:
        try:
            return services.pool_view(self._slug)
        except services.UnknownPool:
            return None

    def _wait_for_database(self, error: Exception) -> None:
        self._away_since = self._away_since or monotonic()
        if monotonic() - self._away_since >= AWAY_SECONDS:
            raise ProcessFailed(
                f"The database has been away for {AWAY_SECONDS:.0f} seconds, so this ends. "
                f"It said last: {str(error.__cause__ or error).strip()}"
            ) from error
