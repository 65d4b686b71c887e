"""The clusters beside the web process."""

from pathlib import Path

import pytest

from claims_demo import clusters, processes
from claims_demo.clusters import _start, _stop


def test_a_clusters_log_begins_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(clusters, "data_dir", lambda: tmp_path)
    monkeypatch.setattr(processes.sys, "executable", "/bin/false")
    (tmp_path / "bulk.log").write_text("of an earlier run")
    started = _start("bulk")
    _stop([started.process])
    assert "earlier" not in (tmp_path / "bulk.log").read_text()
