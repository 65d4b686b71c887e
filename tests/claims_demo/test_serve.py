"""`make serve`, as its user meets it."""

import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from argparse import ArgumentTypeError
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from claims_demo.database.stale import living
from claims_demo.processes import free_port, port_number, require_free
from tests.claims_demo.directories import temporary_dir
from tests.claims_demo.programs import ROOT, environment

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]


def serve(port: int, *arguments: str, **changes: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "claims_demo.serve", "--port", str(port), *arguments],
        cwd=ROOT,
        env=environment(**changes),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def clusters(process: subprocess.Popen[str]) -> dict[str, psutil.Process]:
    """By name: the first process of each cluster that the service started."""
    children = psutil.Process(process.pid).children()
    return {child.cmdline()[-1]: child for child in children if "run_jobs" in child.cmdline()}


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    with temporary_dir() as directory:
        yield directory


@pytest.fixture
def port() -> int:
    return free_port("127.0.0.1")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serves_until_told_to_stop_and_leaves_nothing_behind(
    data_dir: Path, port: int, number: signal.Signals
) -> None:
    process = serve(port, BUDGET_DATA_DIR=str(data_dir))
    assert process.stdout is not None
    assert process.stdout.readline() == f"Serving on http://127.0.0.1:{port}/ (Ctrl-C stops)\n"
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
        assert answer.status == 200
    began = clusters(process)
    assert sorted(began) == ["bulk", "near_line"]

    process.send_signal(number)
    _, said = process.communicate()
    assert [line for line in said.splitlines() if not line.startswith("Made ")] == []
    assert process.returncode == 0
    assert living(data_dir / "postgres") is None
    require_free("127.0.0.1", port)
    assert psutil.wait_procs(began.values(), timeout=5)[1] == []


def test_a_cluster_that_dies_ends_the_service_which_names_its_log(
    data_dir: Path, port: int
) -> None:
    process = serve(port, BUDGET_DATA_DIR=str(data_dir))
    assert process.stdout is not None
    process.stdout.readline()
    family = psutil.Process(process.pid).children(recursive=True)
    clusters(process)["bulk"].kill()

    _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    assert said.endswith(f"The cluster bulk has ended: {data_dir / 'bulk.log'} says why.\n")
    assert psutil.wait_procs(family, timeout=5)[1] == []
    assert living(data_dir / "postgres") is None


@pytest.mark.parametrize("text", ["65536", "-1", "http"])
def test_what_is_no_port_is_said(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"{text} is no port"):
        port_number(text)


def test_a_taken_port_is_named(data_dir: Path, port: int) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        process = serve(port, BUDGET_DATA_DIR=str(data_dir))
        _, said = process.communicate()
    assert process.returncode == 1
    assert said.endswith(
        f"Cannot listen on 127.0.0.1:{port}: Address already in use. Choose another with PORT=…\n"
    )


def test_beyond_this_machine_it_answers_plain_http_and_says_so(data_dir: Path, port: int) -> None:
    process = serve(port, "--host", "0.0.0.0", BUDGET_DATA_DIR=str(data_dir))
    assert process.stdout is not None
    assert process.stdout.readline().startswith(f"Serving on http://0.0.0.0:{port}/")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/usage")

    process.terminate()
    _, said = process.communicate()
    assert process.returncode == 0
    assert "BEHIND_PROXY=1" in said
    assert "ALLOWED_HOSTS" in said
