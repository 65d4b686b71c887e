"""Who does something by a management command, and how a record remembers them."""

import getpass
from typing import Any

import pghistory


def audit(command: str, reason: str = "") -> Any:
    """Context manager: edits within it are remembered with the command and who ran it."""
    return pghistory.context(command=command, account=account(), reason=reason)


def signed(reason: str, name: str) -> str:
    """A reason with who gives it, for a record without a place for the name of its own."""
    return f"{reason} (by {name})" if reason and name else reason or (f"by {name}" if name else "")


def account() -> str:
    """Name of the operating system's account; empty where it has none, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
