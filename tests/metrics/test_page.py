"""The page that Prometheus scrapes, and what it makes of it."""

import logging
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client

from budget.metrics import reading
from budget.models import Pool, PoolState, UsageTotal
from tests.ledger.disturbances import eventually
from tests.ledger.pools import admit
from tests.metrics.scrape import Scrape, read
from tests.policies import claims_pool


@pytest.fixture(autouse=True)
def pool() -> Pool:
    """The claims platform's policy."""
    return claims_pool()


def page() -> Scrape:
    """What the page says."""
    answer = Client().get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=1.0.0")
    return read(answer.content.decode())


def test_it_has_the_ledgers_metrics_beside_those_of_django() -> None:
    admit()
    told = page()
    assert told.of("budget_calls_offered_total") == 1
    assert told("django_http_requests_before_middlewares_total") is not None


def test_it_can_only_be_read() -> None:
    assert Client(enforce_csrf_checks=True).post("/metrics").status_code == 405
    assert Client().head("/metrics").status_code == 200


@pytest.mark.promtool
@pytest.mark.parametrize("state", ["idle", "busy", "away"])
def test_promtool_finds_nothing_to_object_to(
    state: str, pool: Pool, request: pytest.FixtureRequest
) -> None:
    if state == "busy":
        admit(), admit(None), admit("nightly", 10_000_000)
        UsageTotal.objects.create(
            pool_id=pool.pk, workload_class='"\\\n', minute="2026-01-01T00:00:00Z", offered=7
        )
    if state == "away":
        request.getfixturevalue("refusing")
    checked = subprocess.run(
        [shutil.which("promtool") or "promtool", "check", "metrics"],
        input=page().text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_a_database_that_refuses_costs_only_the_ledgers_own_metrics(
    refusing: None, caplog: pytest.LogCaptureFixture
) -> None:
    told = page()
    assert told("budget_up") == 0
    assert told.labelled(pool="claims") == set()
    assert told("django_http_requests_before_middlewares_total") is not None
    assert "The ledger did not answer a scrape" in caplog.text


def test_a_database_that_hangs_is_not_waited_for(
    hanging: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PATIENCE_SECONDS", 0.3)
    for _ in range(reading.MOST_READERS):
        assert page()("budget_up") == 0
    readers = [thread for thread in threading.enumerate() if thread.name == reading.THREAD]
    assert len(readers) == reading.MOST_READERS
    began = time.monotonic()
    assert page()("budget_up") == 0
    assert time.monotonic() - began < 0.3, "there is no use in one more"


def test_balances_of_a_newer_version_are_no_answer(pool: Pool) -> None:
    admit()
    with connection.cursor() as cursor:
        cursor.execute("""UPDATE budget_poolstate SET state = '{"format": 99}'""")
    assert PoolState.objects.exists()
    assert page()("budget_up") == 0


def test_a_fault_of_its_own_does_not_take_the_others_along(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr("budget.services.snapshot")
    told = page()
    assert told("budget_up") == 0
    assert told("django_http_requests_before_middlewares_total") is not None
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_it_tells_again_once_the_ledger_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as meanwhile:
        meanwhile.setitem(connection.settings_dict, "NAME", "nowhere")
        assert page()("budget_up") == 0
    assert page()("budget_up") == 1


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database takes no connections any more."""
    monkeypatch.setitem(connection.settings_dict, "NAME", "nowhere")


@pytest.fixture
def hanging() -> Iterator[None]:
    """The database takes connections and says nothing."""
    with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{directory}/.s.PGSQL.5432")
        listener.listen()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {"HOST": directory, "PORT": "5432", "EMBEDDED": ""}.items():
                patch.setitem(connection.settings_dict, name, value)
            yield
    # Whoever waited is told so now.
    assert eventually(lambda: reading.THREAD not in {t.name for t in threading.enumerate()})
