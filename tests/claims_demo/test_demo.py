"""`make demo`, as its user meets it."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from claims_demo.database.stale import living
from tests.claims_demo.directories import temporary_dir
from tests.claims_demo.programs import ROOT, environment


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    with temporary_dir() as directory:
        yield directory


def demo(data_dir: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "claims_demo.demo", *arguments],
        cwd=ROOT,
        env=environment(BUDGET_DATA_DIR=str(data_dir)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.processes
@pytest.mark.timeout(240)
def test_the_demo_shows_the_storm_and_stops_also_when_told_to(data_dir: Path) -> None:
    """One test, because the second part wants what the first leaves: a policy and accounts."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        first = demo(data_dir, "--port", str(port), "--seconds", "8")
        said, complained = first.communicate()
    assert first.returncode == 0, said + complained
    assert f"Port {port} is taken" in said
    assert "reservation of adjuster added: share 50 %" in said
    assert "demo-editor / " in said
    assert "the person waiting was served" in said
    assert living(data_dir / "postgres") is None

    second = demo(data_dir, "--port", str(port))
    assert second.stdout is not None
    while not (line := second.stdout.readline()).startswith("Passwords"):
        assert line, "the demo ended early"
        assert " added" not in line
    time.sleep(1.5)
    second.send_signal(signal.SIGTERM)
    said, complained = second.communicate()
    assert second.returncode == 0, said + complained
    assert living(data_dir / "postgres") is None
