"""`make bench`, briefly: what it measures is another matter, and no test's."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BRIEFLY = ("--rounds", "1", "--seconds", "0.3")


@pytest.mark.processes
@pytest.mark.timeout(240)
def test_parts_can_be_run_alone_and_save_nothing() -> None:
    results = ROOT / "bench" / "results.json"
    before = results.read_bytes() if results.exists() else None
    run = subprocess.run(
        [sys.executable, "-m", "bench", *BRIEFLY, "--only", "ledger", "--only", "http"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "ledger_over_naive_sql_32" in run.stdout
    assert "http_over_null_16" in run.stdout
    assert "p99_growth_1m" not in run.stdout
    assert (results.read_bytes() if results.exists() else None) == before
