"""The figures' bounds and their file."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from bench import figures

NAMES = [
    "null_view_per_s_16",
    "null_endpoint_per_s_16",
    "http_over_null_endpoint_16",
    "naive_orm_per_s_32",
    "naive_sql_per_s_32",
    "ledger_per_s_1",
    "ledger_per_s_8",
    "ledger_per_s_32",
    "ledger_per_s_128",
    "ledger_over_naive_orm_32",
    "ledger_over_naive_sql_32",
    "http_per_s_1",
    "http_per_s_16",
    "http_per_s_64",
    "http_over_null_16",
    "http_p99_ms_16",
    "p99_growth_1m",
    "web_rss_mb",
    "dashboard_ms",
    "sheds_ms",
    "live_ms",
    "live_kb",
    "metrics_ms",
    "watched_p99_over_alone",
    "enqueue_per_s",
    "jobs_per_s",
    "expire_100k_s",
    "expire_slowest_take_ms",
    "overload_late_jobs",
    "overload_in_time",
    "overload_wait_s",
    "overload_wait_over_fifo",
    "estimate_reserved_over_used_p95",
    "estimate_overrun_percent",
]


def test_the_file_is_one_flat_object_of_all_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "RESULTS", tmp_path / "results.json")
    figures.save(dict.fromkeys(NAMES, 1.23456))
    assert json.loads(figures.RESULTS.read_text()) == dict.fromkeys(NAMES, 1.235)


def test_a_missed_bound_is_marked() -> None:
    out = io.StringIO()
    figures.show(
        {"http_over_null_16": 0.44, "http_p99_ms_16": 25.0, "http_per_s_1": 1234.5},
        Console(file=out, width=140),
    )
    shown = {line.split()[1]: line for line in out.getvalue().splitlines() if "_" in line}
    assert "✗" in shown["http_over_null_16"]
    assert "✓" in shown["http_p99_ms_16"]
    assert "1,234" in shown["http_per_s_1"]
    assert "naive_orm_per_s_32" not in shown
