"""Committed rows, since the ledger reads them on a connection of its own."""

from collections.abc import Iterator

import pgtrigger
import pytest
from django.apps import apps
from django.db import connection, transaction
from django.test import TransactionTestCase

from budget.ledger.writers import stop_writers
from budget.models import WorkloadClass
from tests.ledger.pools import make_classes


@pytest.fixture
def _deleting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empties tables by DELETE: Django's TRUNCATE of every table takes half a second."""
    monkeypatch.setattr(TransactionTestCase, "_fixture_teardown", _delete_everything)


@pytest.fixture
def committed(_deleting: None, transactional_db: None) -> Iterator[None]:
    """Tests commit; what they leave goes away, and so do the writers."""
    yield
    stop_writers()


@pytest.fixture
def classes(committed: None) -> dict[str, WorkloadClass]:
    """One class per tier."""
    return make_classes()


def _delete_everything(_: TransactionTestCase) -> None:
    with transaction.atomic(), pgtrigger.ignore(), connection.cursor() as cursor:
        for name in ("budget", "pghistory"):
            for model in apps.get_app_config(name).get_models(include_auto_created=True):
                if model._meta.managed and not model._meta.proxy:
                    cursor.execute(f'DELETE FROM "{model._meta.db_table}"')
