"""One demo at a time in a data directory: a second one would take the first one's policy away."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from claims_demo.database.errors import unusable
from claims_demo.environment import data_dir
from claims_demo.processes import ProcessFailed


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Keep other demos out while the block runs. Raises ProcessFailed when one runs already.

    The kernel drops the lock with its process, so nothing is left behind by a crash.
    """
    path = data_dir() / "demo.lock"
    with _opened(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ProcessFailed(
                f"A demo runs already, with its data in {path.parent}. End that one, "
                "or set BUDGET_DATA_DIR to another directory."
            ) from None
        yield


def _opened(path: Path) -> IO[str]:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path.open("w")
    except OSError as error:
        raise unusable(path, error) from None
