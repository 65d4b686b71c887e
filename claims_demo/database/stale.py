"""Telling a living server's files from those that a killed one left behind."""

from pathlib import Path

import psutil


def living(directory: Path) -> int | None:
    """The id of a PostgreSQL process at work in the data directory, None without any.

    A server works inside its data directory, which tells it from a process that was
    given the same id later, and from a server whose files were copied here.
    """
    for process in psutil.process_iter(["name", "cwd"]):
        if process.info["cwd"] == str(directory) and "postgres" in (process.info["name"] or ""):
            return int(process.pid)
    return None


def remove(directory: Path, socket: Path) -> None:
    """Removes the lock files of a server that no longer lives.

    PostgreSQL does so itself, unless the file is empty or its process id was given to
    another process of the same user; then it would refuse to start for ever.
    """
    for path in (directory / "postmaster.pid", socket, socket.with_name(f"{socket.name}.lock")):
        path.unlink(missing_ok=True)
