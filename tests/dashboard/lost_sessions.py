"""Sessions that are kept where nobody answers."""

from typing import Any

from django.contrib.sessions.backends.base import SessionBase
from django.db import OperationalError


class SessionStore(SessionBase):
    """Loads none."""

    def load(self) -> dict[str, Any]:
        """Fail, as with a database that is away."""
        raise OperationalError("connection refused")
