"""A reader that stops early, as `head` does, is no error."""

import os
import subprocess
import sys

WRITES = """
import sys
from django.core.management.base import OutputWrapper
from budget.management.piped import piped

out = OutputWrapper(sys.stdout)
with piped(out):
    for _ in range({lines}):
        out.write("claims  rescore  green")
"""


def test_a_command_nobody_reads_ends_quietly() -> None:
    for lines in (1, 10_000):
        reader, writer = os.pipe()
        os.close(reader)
        code = WRITES.format(lines=lines)
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE, check=False
        )
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, b"")
