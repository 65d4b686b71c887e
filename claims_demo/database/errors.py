"""What keeps the embedded server from running, in words that say what to do."""

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

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
