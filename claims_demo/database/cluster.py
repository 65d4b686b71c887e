"""A PostgreSQL data directory: created, started and stopped with the packaged programs."""

import hashlib
import os
import shlex
import shutil
import socket
import time
from functools import cached_property
from pathlib import Path

from claims_demo.database import stale
from claims_demo.database.account import Account
from claims_demo.database.errors import WAY_OUT, ServerUnavailable, failed
from claims_demo.database.programs import NEWEST, programs, programs_for

LONGEST_SOCKET_PATH = 103
"""Bytes; what the strictest kernel allows."""
PATIENCE = 60.0
"""Seconds that starting, or waiting for an earlier server to end, may take."""
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "250",
    "timezone": "UTC",
    "unix_socket_permissions": "0700",
}


class Cluster:
    """One data directory. The caller sees to it that one process at a time starts or stops it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "server.log"

    @cached_property
    def socket(self) -> Path:
        """The server's socket: in the data directory, or in a short one if that is too long."""
        name = ".s.PGSQL.5432"
        if len(os.fsencode(self.directory / name)) <= LONGEST_SOCKET_PATH:
            return self.directory / name
        digest = hashlib.sha256(os.fsencode(self.directory)).hexdigest()[:12]
        return Path(f"/tmp/token-budget-{digest}") / name

    def answers(self) -> bool:
        """Whether somebody listens on the socket."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(self.socket))
            except OSError:
                return False
        return True

    def start(self) -> None:
        """Makes the data unless it exists, starts the server, returns when it accepts clients."""
        if not (self.directory / "PG_VERSION").exists():
            self._create()
        account = Account.of(self.directory)
        account.make_reachable(self.directory)
        if self.socket.parent != self.directory:
            account.make_dir(self.socket.parent)
        self._await_earlier_server()
        if not self.answers():
            stale.remove(self.directory, self.socket)
            self._start(account)

    def stop(self) -> None:
        """Stops the server if it runs; open transactions are rolled back."""
        if (self.directory / "postmaster.pid").exists():
            pg_ctl = programs_for(self.directory) / "pg_ctl"
            Account.of(self.directory).run(
                *(pg_ctl, "stop", "-D", self.directory, "-m", "fast", "-w")
            )
            if self.socket.parent != self.directory:
                shutil.rmtree(self.socket.parent, ignore_errors=True)

    def _create(self) -> None:
        """Makes the data under another name first, so that half-made data is never used.

        A new name each time: what a killed process started may still be at work in its own.
        """
        for abandoned in self.directory.parent.glob(f"{self.directory.name}.*.new"):
            shutil.rmtree(abandoned, ignore_errors=True)
        draft = self.directory.with_name(f"{self.directory.name}.{os.getpid()}.new")
        account = Account.for_new_data()
        account.make_dir(draft)
        account.make_reachable(draft)
        code, said = account.run(
            programs(NEWEST) / "initdb",
            *("-D", draft, "-U", "postgres", "-E", "UTF8", "--locale=C", "--auth=trust"),
        )
        if code:
            raise failed(self.directory, "could not be made", said)
        draft.rename(self.directory)

    def _await_earlier_server(self) -> None:
        """Waits for a server that still starts, or for the children of one that was killed."""
        until = time.monotonic() + PATIENCE
        while (pid := stale.living(self.directory)) and not self.answers():
            if time.monotonic() > until:
                raise ServerUnavailable(
                    f"Process {pid} is a PostgreSQL at work in {self.directory}, but does not "
                    f"answer on {self.socket}. Stop it (kill {pid}), {WAY_OUT}"
                )
            time.sleep(0.1)

    def _start(self, account: Account) -> None:
        settings = SETTINGS | {"unix_socket_directories": f'"{self.socket.parent}"'}
        options = " ".join(f"-c {name}={shlex.quote(value)}" for name, value in settings.items())
        code, said = account.run(
            *(
                programs_for(self.directory) / "pg_ctl",
                "start",
                "-D",
                self.directory,
                "-l",
                self.log,
            ),
            *("-o", options, "-w", "-t", f"{PATIENCE:.0f}"),
        )
        if code:
            raise failed(self.directory, "did not start", f"{said}\n{self._last_words()}")

    def _last_words(self) -> str:
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-8:])
        except OSError:
            return ""
