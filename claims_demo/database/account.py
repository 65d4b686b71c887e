"""The operating system account that the embedded server runs under: PostgreSQL refuses root."""

import os
import pwd
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from claims_demo.database.errors import WAY_OUT, ServerUnavailable, unusable
from claims_demo.database.programs import package_dirs

SERVER_USER = "pgserver"


@dataclass(frozen=True)
class Account:
    """A user that commands are run as and directories are made for."""

    uid: int
    gid: int

    @classmethod
    def for_new_data(cls) -> "Account":
        """Who shall own new data: this user, or a user of its own when this is root."""
        if os.geteuid() != 0:
            return cls(os.geteuid(), os.getegid())
        entry = _server_user()
        return cls(entry.pw_uid, entry.pw_gid)

    @classmethod
    def of(cls, directory: Path) -> "Account":
        """The owner of existing data, which this process must be, or be able to become."""
        owner = directory.stat()
        if os.geteuid() not in (0, owner.st_uid):
            raise ServerUnavailable(
                f"{directory} belongs to user {_name(owner.st_uid)}. Run as that user (as root if "
                "root made it), or set BUDGET_DATA_DIR to a directory of your own."
            )
        return cls(owner.st_uid, owner.st_gid)

    @property
    def is_other(self) -> bool:
        """Whether acting as this account means changing to it, as only root can."""
        return self.uid != os.geteuid()

    def run(self, *command: str | Path) -> tuple[int, str]:
        """Runs a PostgreSQL tool to its end; returns its exit code and all it said.

        Its words go through a file: a pipe would stay open as long as a server it started.
        The environment is bare, so that no PGPORT or PGOPTIONS reaches the server.
        """
        identity: dict[str, Any] = {}
        if self.is_other:
            identity = {"user": self.uid, "group": self.gid, "extra_groups": []}
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd="/",
                env={"PATH": os.defpath, "LC_ALL": "C"},
                start_new_session=True,
                check=False,
                **identity,
            )
            said.seek(0)
            return done.returncode, said.read().decode(errors="replace")

    def make_dir(self, path: Path) -> None:
        """Makes a private directory of this account; one that is another's is refused."""
        try:
            path.mkdir(mode=0o700)
            if self.is_other:
                os.chown(path, self.uid, self.gid)
        except FileExistsError:
            if path.is_symlink() or path.stat().st_uid != self.uid:
                raise ServerUnavailable(
                    f"The embedded PostgreSQL needs {path}, but that is somebody else's. Remove "
                    f"it, {WAY_OUT}"
                ) from None
            path.chmod(0o700)
        except OSError as error:
            raise unusable(path, error) from error

    def make_reachable(self, *paths: Path) -> None:
        """As root, lets the account reach the server's programs and these paths.

        Directories above them become passable, never readable.
        """
        if not self.is_other:
            return
        _open_programs()
        for directory in {above for path in (*package_dirs(), *paths) for above in path.parents}:
            mode = directory.stat().st_mode
            if directory.stat().st_uid != self.uid and not mode & stat.S_IXOTH:
                directory.chmod(mode | stat.S_IXOTH)
                print(f"Made {directory} passable (o+x) for {_name(self.uid)}.", file=sys.stderr)


def _server_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(SERVER_USER)
    except KeyError:
        pass
    try:
        subprocess.run(["useradd", "--system", SERVER_USER], check=True, capture_output=True)
        return pwd.getpwnam(SERVER_USER)
    except (OSError, subprocess.CalledProcessError, KeyError) as error:
        raise ServerUnavailable(
            f"PostgreSQL does not run as root, and no user {SERVER_USER} can be made ({error}). "
            "Run as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own."
        ) from error


def _open_programs() -> None:
    """Undoes a strict umask at installation, under which only root could run the server."""
    for tree in package_dirs():
        if not tree.stat().st_mode & stat.S_IXOTH:
            for path in (tree, *tree.rglob("*")):
                mode = path.stat().st_mode
                path.chmod(mode | stat.S_IROTH | (stat.S_IXOTH if mode & stat.S_IXUSR else 0))


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
