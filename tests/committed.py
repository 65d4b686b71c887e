"""For tests that commit: what they leave is deleted afterwards, and the ledger's writers stop."""

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.test import TransactionTestCase
from django_q.models import OrmQ, Task
from pghistory.models import Event

from budget.ledger.writers import stop_writers


@pytest.fixture(autouse=True, scope="session")
def _deleting() -> Iterator[None]:
    """Empties tables by DELETE: Django's TRUNCATE of every table takes half a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", _delete_everything)
        yield


@pytest.fixture
def committed(transactional_db: None) -> Iterator[None]:
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
    others = [
        LogEntry,
        OrmQ,
        Task,
        Session,
        User.groups.through,
        User.user_permissions.through,
        User,
    ]
    tables = [model._meta.db_table for model in (*own, *others)]
    guarded = [model._meta.db_table for model in own if issubclass(model, Event)]
    statements = [
        *(f'ALTER TABLE "{table}" DISABLE TRIGGER USER' for table in guarded),
        *(f'DELETE FROM "{table}"' for table in sorted(tables, key=guarded.__contains__)),
        *(f'ALTER TABLE "{table}" ENABLE TRIGGER USER' for table in guarded),
    ]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(";".join(statements))
