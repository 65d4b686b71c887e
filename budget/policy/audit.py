"""Who does something by a management command: what the history remembers of it."""

import getpass
from typing import Any

import pghistory


def audit(command: str, reason: str = "") -> Any:
    """Context manager: edits within it are remembered with the command and who ran it."""
    return pghistory.context(command=command, account=_account(), reason=reason)


def _account() -> str:
    """Name of the operating system's account; empty where it has none, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
