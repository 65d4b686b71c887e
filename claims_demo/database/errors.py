"""What keeps the database from being used, in words that say what to do."""

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError
from django.db import NotSupportedError, OperationalError

WAY_OUT = (
    "set BUDGET_DATA_DIR to another directory, or set DATABASE_URL to a PostgreSQL of your own."
)


class ServerUnavailable(ImproperlyConfigured):
    """The embedded server cannot run as things are; the message says what to change."""


def unusable(path: Path, error: OSError) -> ServerUnavailable:
    """A file or directory that the server needs cannot be made or opened."""
    return ServerUnavailable(
        f"The embedded PostgreSQL cannot use {path}: {error.strerror}. Make room or make it "
        f"writable for this user, {WAY_OUT}"
    )


def failed(directory: Path, what: str, said: str) -> ServerUnavailable:
    """A PostgreSQL tool failed and said why."""
    return ServerUnavailable(
        f"The embedded PostgreSQL in {directory} {what}. It said:\n\n{said.strip()}\n\n"
        f"Mend that, {WAY_OUT}"
    )


REFUSALS = (ImproperlyConfigured, CommandError, NotSupportedError, OperationalError)
"""What a wrong setting or database makes Django raise; more is a fault of the program."""


def in_words(error: Exception) -> str:
    """A refusal as its reader needs it: what is wrong, and where to change it."""
    if not isinstance(error, NotSupportedError | OperationalError):
        return str(error)
    way_out = "Mend that, " + WAY_OUT
    if os.environ.get("DATABASE_URL"):
        way_out = "Check DATABASE_URL, or unset it for the embedded server."
    return f"The database cannot be used: {str(error).strip()}\n{way_out}"
