"""Ctrl-C, whenever it comes."""

import subprocess
import sys

import pytest

from tests.claims_demo.programs import ROOT, environment

INTERRUPTED = """
import os, runpy, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may let it be ignored

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "claims_demo.processes":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
runpy.run_module("{module}", run_name="__main__", alter_sys=True)
"""
"""Somebody presses Ctrl-C while the module is imported."""


@pytest.mark.processes
@pytest.mark.parametrize(
    "module", ["claims_demo.demo", "claims_demo.serve", "claims_demo.screenshots", "bench.__main__"]
)
def test_ctrl_c_during_the_imports_ends_quietly(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(module=module)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert done.returncode == -2, "a shell calls that 130"
