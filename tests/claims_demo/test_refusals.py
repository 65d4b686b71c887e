"""A database that cannot be used is refused in words, by whatever is started."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.claims_demo.old_server import old_server
from tests.claims_demo.programs import ROOT, environment

pytestmark = pytest.mark.processes

PROGRAMS = {
    "demo": ["-m", "claims_demo.demo", "--seconds", "10", "--port", "0"],
    "serve": ["-m", "claims_demo.serve", "--port", "0"],
    "migrate": ["manage.py", "migrate"],
    "load_policy": ["manage.py", "load_policy", "claims_demo/policy.yaml"],
}


@contextmanager
def nobody() -> Iterator[str]:
    """The URL of a server that does not run."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"postgresql://ann:secret@127.0.0.1:{taken.getsockname()[1]}/budget"


@contextmanager
def another_engine() -> Iterator[str]:
    """The URL of a database that is no PostgreSQL."""
    yield "sqlite:///db.sqlite3"


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("database", "words"),
    [
        (another_engine, "PostgreSQL 16 or newer"),
        (nobody, "Connection refused"),
        (old_server, "PostgreSQL 16 or later is required (found 15.4)"),
    ],
)
def test_what_cannot_be_used_is_said_without_a_traceback(
    program: str, database, words: str, tmp_path: Path
) -> None:
    with database() as url:
        done = subprocess.run(
            [sys.executable, *PROGRAMS[program]],
            cwd=ROOT,
            env=environment(DATABASE_URL=url, BUDGET_DATA_DIR=str(tmp_path)),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert words in done.stderr
    assert "DATABASE_URL" in done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr
