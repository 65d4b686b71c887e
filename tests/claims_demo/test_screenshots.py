"""`make screenshots`: the README's pictures can be taken anew."""

import subprocess
import sys
from pathlib import Path

import pytest

from claims_demo.screenshots import BEFORE_THE_DRILL, DURING_THE_DRILL
from tests.claims_demo.programs import ROOT, environment

pytestmark = [pytest.mark.browser, pytest.mark.processes]

LARGEST = 200_000
"""Bytes: a README should load quickly."""


@pytest.mark.timeout(240)
def test_all_pictures_are_taken(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "claims_demo.screenshots", "--into", tmp_path, "--seconds", "2"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pictures = BEFORE_THE_DRILL + DURING_THE_DRILL
    assert {path.name for path in tmp_path.iterdir()} == {picture.file for picture in pictures}
    for path in tmp_path.iterdir():
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < LARGEST
