"""Which databases are accepted."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import NotSupportedError, connections

from claims_demo.database import configuration


def test_without_an_address_the_embedded_server_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert configuration(tmp_path, pooled=False)["EMBEDDED"] == str(tmp_path)


def test_an_address_is_used_as_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ann:s%40fe@db.example:5433/budget")
    entry = configuration(tmp_path, pooled=True)
    assert entry["NAME"] == "budget"
    assert entry["PASSWORD"] == "s@fe"
    assert entry["PORT"] == 5433
    assert entry["OPTIONS"]["pool"]
    assert "EMBEDDED" not in entry
    assert entry["CONN_HEALTH_CHECKS"]
    assert "lock_timeout=3s" in entry["OPTIONS"]["options"]


@pytest.mark.parametrize("url", ["sqlite:///db.sqlite3", "mysql://root@localhost/x", "nonsense"])
def test_other_engines_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    with pytest.raises(ImproperlyConfigured, match="PostgreSQL 16 or newer"):
        configuration(tmp_path, pooled=False)


@pytest.mark.django_db
def test_an_older_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = connections["default"]
    monkeypatch.setitem(connection.__dict__, "pg_version", 150_004)
    with pytest.raises(NotSupportedError, match=r"PostgreSQL 16 or later is required \(found 15.4"):
        connection.check_database_version_supported()


@pytest.mark.django_db
def test_the_shell_reaches_the_embedded_server_without_a_psql_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if not connections["default"].settings_dict.get("EMBEDDED"):
        pytest.skip("DATABASE_URL names another server")
    monkeypatch.setenv("PATH", "")
    call_command("dbshell", "--", "-Atc", "SELECT current_database()")
    assert capfd.readouterr().out.strip() == connections["default"].settings_dict["NAME"]
