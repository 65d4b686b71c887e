"""Which databases a project may run the app on."""

import pytest
from django.core.checks import run_checks
from django.db import connections

from budget import checks


@pytest.mark.django_db
def test_a_server_of_today_passes() -> None:
    assert [
        message for message in run_checks(databases=["default"]) if "budget" in message.id
    ] == []


@pytest.mark.django_db
def test_an_older_server_is_refused_where_it_may_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "OLDEST", 99)

    assert [message.id for message in run_checks(databases=["default"])] == ["budget.E002"]
    assert run_checks() == []


def test_another_engine_is_refused_without_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections["default"], "vendor", "sqlite")

    found = {message.id: message for message in run_checks()}
    assert "sqlite" in found["budget.E001"].msg
    assert "PostgreSQL 16 or newer" in found["budget.E001"].hint
