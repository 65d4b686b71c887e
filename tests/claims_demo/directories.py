"""Directories for servers to live in."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def temporary_dir() -> Iterator[Path]:
    """A short path that stays passable.

    pytest's own are long, and closed to other accounts again whenever another pytest
    starts, while the server of a root user runs under another account.
    """
    with tempfile.TemporaryDirectory(prefix="Budget-") as directory:
        yield Path(directory).resolve()
