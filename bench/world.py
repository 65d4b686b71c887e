"""Where the bench runs: a database server of its own, gone when it is over."""

import io
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from django.core.management import call_command
from django.db import connections

from bench.stored import make_call, store_calls
from claims_demo.database.server import EmbeddedServer
from claims_demo.processes import prepare, web

HOST = "127.0.0.1"
POLICY = Path(__file__).with_name("policy.yaml")
SECOND = "second"
"""A database equal to the first, to be filled with calls."""


@dataclass(frozen=True)
class Served:
    """A running web process and a key to it."""

    port: int
    key: str
    process_id: int

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{HOST}:{self.port}"


class World:
    """The project, migrated, with the bench's policy and a key for everything, twice."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        prepare(HOST)
        call_command("migrate", run_syncdb=True, interactive=False, verbosity=0)
        call_command("load_policy", str(POLICY), reason="bench", stdout=io.StringIO())
        self.key = _key()
        connections.close_all()
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {SECOND} TEMPLATE postgres".encode())

    @contextmanager
    def served(self) -> Iterator[Served]:
        """The web process as `make serve` runs it."""
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port = probe.getsockname()[1]
        with web(HOST, port, log=self.data_dir / "web.log") as process:
            yield Served(port, self.key, process.pid)

    @contextmanager
    def served_with_calls(self, count: int) -> Iterator[Served]:
        """Another web process, on the second database, which gets that many calls stored."""
        address = f"postgresql://postgres@{quote(str(self._socket), safe='')}/{SECOND}"
        with _environment(DATABASE_URL=address), self.served() as server:
            make_call(server.url, server.key)
            with self.connect(SECOND) as connection:
                store_calls(connection, count)
            yield server

    def forget_calls(self) -> None:
        """Empties the first database of calls."""
        with self.connect() as connection:
            connection.execute("TRUNCATE budget_call")

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """A session of its own, for what a bench stores by the million."""
        return psycopg.connect(
            host=str(self._socket), user="postgres", dbname=database, autocommit=True
        )

    @property
    def _socket(self) -> Path:
        return EmbeddedServer.at(self.data_dir).ensure_running()


@contextmanager
def world() -> Iterator[World]:
    """A world of its own, whatever database the environment names; removed at the end."""
    data_dir = Path(tempfile.mkdtemp(prefix="bench-")).resolve()
    os.environ.pop("DATABASE_URL", None)
    os.environ["BUDGET_DATA_DIR"] = str(data_dir)
    os.environ["DJANGO_SETTINGS_MODULE"] = "bench.settings"
    try:
        yield World(data_dir)
    finally:
        connections.close_all()
        EmbeddedServer.at(data_dir).leave()
        shutil.rmtree(data_dir, ignore_errors=True)


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]


def _key() -> str:
    from budget.models import ApiKey  # models, once Django is set up

    return str(ApiKey.objects.create_key(name="bench")[1])
