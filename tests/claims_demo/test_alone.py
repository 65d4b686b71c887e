"""One demo at a time."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from claims_demo.alone import alone
from claims_demo.processes import ProcessFailed


def test_a_second_one_is_kept_out_until_the_first_has_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BUDGET_DATA_DIR", str(tmp_path / "new"))
    told = f"its data in {tmp_path / 'new'}"
    with alone(), pytest.raises(ProcessFailed, match=told), alone():
        pytest.fail("both run")
    with alone():
        pass


def test_a_directory_that_cannot_be_used_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BUDGET_DATA_DIR", str(tmp_path / "file"))
    with pytest.raises(ImproperlyConfigured, match="BUDGET_DATA_DIR"), alone():
        pytest.fail("it went on")
