"""For tests that commit: what they leave is deleted afterwards, and the ledger's writers stop."""

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.test import TransactionTestCase
from django_q.models import OrmQ
from pghistory.models import Event

from budget.ledger.writers import stop_writers


@pytest.fixture
def _deleting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empties tables by DELETE: Django's TRUNCATE of every table takes half a second."""
    monkeypatch.setattr(TransactionTestCase, "_fixture_teardown", _delete_everything)


@pytest.fixture
def committed(_deleting: None, transactional_db: None) -> Iterator[None]:
    """Each statement commits, as outside of tests."""
    yield
    stop_writers()


def _delete_everything(_: TransactionTestCase) -> None:
    own = [
        model
        for label in ("budget", "claims_demo")
        for model in apps.get_app_config(label).get_models(include_auto_created=True)
        if not model._meta.proxy
    ]
    others = [LogEntry, OrmQ, Session, User.groups.through, User.user_permissions.through, User]
    events = [model for model in own if issubclass(model, Event)]
    with transaction.atomic(), connection.cursor() as cursor:
        for model in events:
            cursor.execute(f'ALTER TABLE "{model._meta.db_table}" DISABLE TRIGGER USER')
        for model in sorted([*own, *others], key=lambda model: model in events):
            cursor.execute(f'DELETE FROM "{model._meta.db_table}"')
        for model in events:
            cursor.execute(f'ALTER TABLE "{model._meta.db_table}" ENABLE TRIGGER USER')
