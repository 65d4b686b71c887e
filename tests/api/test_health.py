from typing import Any

import pytest
from django.db import connection
from django.test import Client

from budget.api import health
from budget.ledger.writers import stop_writers
from budget.models import Pool
from tests.api.conftest import lock_held


def test_a_live_process_says_so_without_a_database(client: Client) -> None:
    answer = client.get("/healthz")

    assert answer.status_code == 200
    assert answer.json() == {"status": "ok"}


@pytest.mark.django_db(transaction=True)
def test_a_process_without_pools_is_ready(client: Client) -> None:
    answer = client.get("/readyz")

    assert answer.status_code == 200
    assert answer.json() == {"status": "ready"}


@pytest.mark.django_db(transaction=True)
def test_a_process_with_a_pool_is_ready(client: Client, pool: Pool) -> None:
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_missing_migrations_are_reported(client: Client) -> None:
    health._migrations.cache_clear()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_migrations SET app = 'gone' WHERE app = 'budget'")
    try:
        answer = client.get("/readyz")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE django_migrations SET app = 'budget' WHERE app = 'gone'")

    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "1"
    assert answer.json()["check"] == "migrations"
    assert "manage.py migrate" in answer.json()["detail"]


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_away_is_reported(client: Client, away: None) -> None:
    answer = client.get("/readyz")

    assert answer.status_code == 503
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["check"] == "database"


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_only_get_is_allowed(path: str) -> None:
    answer = Client(enforce_csrf_checks=True).post(path)

    assert answer.status_code == 405
    assert answer.headers["Allow"] == "GET, HEAD"
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.django_db(transaction=True)
def test_a_ledger_that_cannot_get_its_lock_is_reported(
    client: Client, pool: Pool, settings: Any
) -> None:
    settings.BUDGET_LEDGER_WAIT_SECONDS = 0.2
    with lock_held(pool):
        answer = client.get("/readyz")
    stop_writers()

    assert answer.status_code == 503
    assert answer.json()["check"] == "ledger"
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db
def test_metrics_are_served_for_prometheus(client: Client) -> None:
    answer = client.get("/metrics")

    assert answer.status_code == 200
    assert b"django_http_requests_before_middlewares_total" in answer.content


@pytest.fixture
def away(transactional_db: None) -> Any:
    """A database that refuses connections, for this thread only."""
    settings_dict = dict(connection.settings_dict)
    connection.close()
    connection.settings_dict["NAME"] = "nowhere"
    yield
    connection.close()
    connection.settings_dict.update(settings_dict)
