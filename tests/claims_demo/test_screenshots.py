"""`make screenshots`: the README's pictures can be taken anew."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.claims_demo.programs import ROOT, environment

pytestmark = [pytest.mark.browser, pytest.mark.processes]

LARGEST = 200_000
"""Bytes: a README should load quickly."""


def test_pictures_of_the_pool_and_its_history_are_taken(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "claims_demo.screenshots", "--into", tmp_path, "--seconds", "2"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"pool.png", "history.png"}
    for path in tmp_path.iterdir():
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < LARGEST
