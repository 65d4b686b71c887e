"""The embedded server's life, with real processes and a real PostgreSQL."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from claims_demo.database.errors import ServerUnavailable
from claims_demo.database.server import EmbeddedServer
from claims_demo.database.stale import living
from tests.claims_demo.directories import temporary_dir

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]

ROOT = Path(__file__).resolve().parents[2]
USE = """
import sys
from pathlib import Path
from claims_demo.database.server import EmbeddedServer
import psycopg
host = EmbeddedServer.at(Path(sys.argv[1])).ensure_running()
with psycopg.connect(host=str(host), user="postgres") as connection:
    print(connection.execute("select pg_postmaster_start_time()").fetchone()[0], flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A data directory with a database in it: making one takes as long as a whole test."""
    with temporary_dir() as directory:
        server = EmbeddedServer.at(directory)
        with connect(server) as connection:
            connection.execute("create table kept as select 1 as one")
        server.leave()
        yield directory


@pytest.fixture
def data_dir(made: Path) -> Iterator[Path]:
    yield made
    EmbeddedServer.at(made).leave()


@pytest.fixture
def new_dir() -> Iterator[Path]:
    with temporary_dir() as directory:
        yield directory
        EmbeddedServer.at(directory).leave()


def connect(server: EmbeddedServer) -> psycopg.Connection:
    return psycopg.connect(host=str(server.ensure_running()), user="postgres", autocommit=True)


def user_process(data_dir: Path) -> subprocess.Popen[str]:
    """A process that uses the server until its input is closed; prints when it started."""
    return subprocess.Popen(
        [sys.executable, "-c", USE, str(data_dir)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def started_at(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def finish(process: subprocess.Popen[str]) -> None:
    process.communicate("")
    assert process.returncode == 0


def postmaster(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])


def test_data_outlives_a_stop(data_dir: Path) -> None:
    server = EmbeddedServer.at(data_dir)
    server.ensure_running()
    server.leave()
    assert living(data_dir / "postgres") is None

    with connect(server) as connection:
        assert connection.execute("select one from kept").fetchone() == (1,)


def test_durable_and_roomy(data_dir: Path) -> None:
    with connect(EmbeddedServer.at(data_dir)) as connection:
        shown = [
            connection.execute(f"show {name}").fetchone()
            for name in ("fsync", "synchronous_commit", "listen_addresses", "max_connections")
        ]
    assert shown == [("on",), ("on",), ("",), ("250",)]


def test_processes_that_start_together_share_one_server(data_dir: Path) -> None:
    processes = [user_process(data_dir) for _ in range(4)]
    assert len({started_at(process) for process in processes}) == 1
    for process in processes[:-1]:
        finish(process)
    assert living(data_dir / "postgres")
    finish(processes[-1])
    assert living(data_dir / "postgres") is None


def test_a_killed_user_does_not_keep_it_running(data_dir: Path) -> None:
    first, second = user_process(data_dir), user_process(data_dir)
    assert started_at(first) == started_at(second)
    first.kill()
    first.communicate()
    finish(second)
    assert living(data_dir / "postgres") is None


def test_what_killed_users_left_running_is_used_and_stopped_by_the_next(data_dir: Path) -> None:
    first = user_process(data_dir)
    start = started_at(first)
    first.kill()
    first.communicate()
    second = user_process(data_dir)
    assert started_at(second) == start
    finish(second)
    assert living(data_dir / "postgres") is None


def test_a_forked_child_leaves_it_to_its_parent(data_dir: Path) -> None:
    server = EmbeddedServer.at(data_dir)
    server.ensure_running()
    child = os.fork()
    if not child:
        server.leave()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert server.cluster.answers()


def test_a_killed_server_comes_back_with_its_data(data_dir: Path) -> None:
    server = EmbeddedServer.at(data_dir)
    server.ensure_running()
    os.kill(postmaster(data_dir), signal.SIGKILL)
    while server.cluster.answers():
        time.sleep(0.01)

    with connect(server) as connection:
        assert connection.execute("select one from kept").fetchone() == (1,)


@pytest.mark.parametrize("content", ["", "{pid}\n"])
def test_lock_files_of_a_dead_server_are_no_obstacle(data_dir: Path, content: str) -> None:
    """Also when another process has the dead server's id by now."""
    server = EmbeddedServer.at(data_dir)
    for name in ("postmaster.pid", ".s.PGSQL.5432.lock", ".s.PGSQL.5432"):
        (data_dir / "postgres" / name).write_text(content.format(pid=os.getpid()))

    with connect(server) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_half_made_data_is_made_again(new_dir: Path) -> None:
    draft = new_dir / "postgres.1.new"
    draft.mkdir()
    (draft / "PG_VERSION").write_text("18\n")
    with connect(EmbeddedServer.at(new_dir)) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert not draft.exists()


@pytest.mark.parametrize("name", ["with space's", "Long" * 30])
def test_any_path_will_do(new_dir: Path, name: str) -> None:
    server = EmbeddedServer.at(new_dir / name)
    with connect(server) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    server.leave()


def test_somebody_elses_socket_directory_is_refused(new_dir: Path) -> None:
    server = EmbeddedServer.at(new_dir / ("Long" * 30))
    server.cluster.socket.parent.symlink_to(new_dir)
    try:
        with pytest.raises(ServerUnavailable, match="is somebody else's"):
            server.ensure_running()
    finally:
        server.cluster.socket.parent.unlink()
        server.leave()


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ServerUnavailable, match=r"cannot use .*file/data.*set BUDGET_DATA_DIR"):
        EmbeddedServer.at(tmp_path / "file" / "data").ensure_running()


def test_data_of_an_unknown_version_is_refused(new_dir: Path) -> None:
    (new_dir / "postgres").mkdir()
    (new_dir / "postgres" / "PG_VERSION").write_text("15\n")
    with pytest.raises(ServerUnavailable, match=r"by PostgreSQL 15, but .* comes as 16 and 18"):
        EmbeddedServer.at(new_dir).ensure_running()


def test_a_failed_start_says_what_the_server_said(data_dir: Path) -> None:
    settings = data_dir / "postgres" / "postgresql.conf"
    before = settings.read_text()
    settings.write_text(before + "shared_buffers = 'nonsense'\n")
    try:
        with pytest.raises(ServerUnavailable, match=r"(?s)did not start.*shared_buffers"):
            EmbeddedServer.at(data_dir).ensure_running()
    finally:
        settings.write_text(before)
