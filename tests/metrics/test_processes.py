"""Several web processes, scraped one by one and together."""

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from time import monotonic
from urllib.parse import quote

import msgspec
import pytest
from django.db import connection

from claims_demo.processes import free_port, web
from tests.api.conftest import ADMISSIONS, CALL, make_key
from tests.ledger.proxy import Proxy
from tests.metrics.scrape import Scrape, read
from tests.policies import claims_pool

pytestmark = pytest.mark.processes

HOST = "127.0.0.1"
ANSWERED = {"view": "budget:admissions", "method": "POST", "status": "201"}


@pytest.fixture(autouse=True)
def _test_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes use the test database, and its claims policy."""
    claims_pool()
    monkeypatch.setenv("DATABASE_URL", url(connection.settings_dict["HOST"]))


def url(host: str, port: str = "") -> str:
    """The test database, by the server at a host or in a directory."""
    own = connection.settings_dict
    account = f"{own['USER']}:{own['PASSWORD']}"
    return f"postgresql://{account}@{quote(host, safe='')}:{port or own['PORT']}/{own['NAME']}"


class Process:
    """A running web process."""

    def __init__(self, port: int) -> None:
        self.port = port

    def scrape(self) -> Scrape:
        """What its page says."""
        return read(self._ask("GET", "/metrics", b"", {}).decode())

    def admit(self, key: str) -> None:
        """One small call."""
        call = CALL | {"input_tokens": 10, "output_tokens": 10}
        headers = {"Authorization": f"Api-Key {key}", "Content-Type": "application/json"}
        self._ask("POST", ADMISSIONS, msgspec.json.encode(call), headers)

    def _ask(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> bytes:
        line = HTTPConnection(HOST, self.port, timeout=10)
        try:
            line.request(method, path, body, headers)
            answer = line.getresponse()
            assert answer.status in (200, 201), answer.read()
            return answer.read()
        finally:
            line.close()


@contextmanager
def process(log: Path) -> Iterator[Process]:
    """A web process while the block runs."""
    port = free_port(HOST)
    with web(HOST, port, log):
        yield Process(port)


def test_every_process_tells_the_same_exact_numbers_also_after_a_restart(tmp_path: Path) -> None:
    key = make_key("all")
    with process(tmp_path / "first.log") as first:
        with process(tmp_path / "second.log") as second, ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda n: (first, second)[n % 2].admit(key), range(20)))
            told = [first.scrape(), second.scrape()]
        assert [one.of("budget_calls_offered_total") for one in told] == [20, 20]
        own = [
            one("django_http_responses_total_by_status_view_method_total", **ANSWERED)
            for one in told
        ]
        assert own == [10, 10], "django-prometheus counts by process"
        with process(tmp_path / "again.log") as again:
            after = again.scrape()
            assert after.of("budget_calls_offered_total") == 20
            assert after.counters == told[0].counters
            again.admit(key)
            assert first.scrape().of("budget_calls_offered_total") == 21


def test_processes_that_share_what_they_count_serve_the_ledgers_metrics_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make_key("all")
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(shared))
    with process(tmp_path / "first.log") as first, process(tmp_path / "second.log") as second:
        for n in range(10):
            (first, second)[n % 2].admit(key)
        for told in (first.scrape(), second.scrape()):
            assert told("budget_up") == 1
            assert told.of("budget_calls_admitted_total") == 10
            answered = told("django_http_responses_total_by_status_view_method_total", **ANSWERED)
            assert answered == 10


def test_a_database_that_goes_and_comes_back_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = connection.settings_dict["HOST"], int(connection.settings_dict["PORT"] or 5432)
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        monkeypatch.setenv("DATABASE_URL", url(directory, "5432"))
        with Proxy(Path(directory), *server):
            one = stack.enter_context(process(tmp_path / "web.log"))
            assert one.scrape()("budget_up") == 1
        began = monotonic()
        told = one.scrape()
        assert told("budget_up") == 0
        assert told("django_http_requests_before_middlewares_total") is not None
        assert monotonic() - began < 4, "Prometheus waits for 10 s"
        os.unlink(f"{directory}/.s.PGSQL.5432")
        with Proxy(Path(directory), *server):
            assert one.scrape()("budget_up") == 1
