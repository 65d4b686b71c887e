"""A process that does what is due about batches, until it is killed or done.

python -m tests.jobs.batch_worker
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection

ROOT = Path(__file__).parents[2]


@contextmanager
def started() -> Iterator["subprocess.Popen[bytes]"]:
    """One on the tests' database; killed in the end if it is still there."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.jobs.settings",
        "CLUSTER_DATABASE": connection.settings_dict["NAME"],
        "CLUSTER_SETTINGS": "{}",
    }
    command = [sys.executable, "-m", "tests.jobs.batch_worker"]
    worker = subprocess.Popen(command, cwd=ROOT, env=environment)
    try:
        yield worker
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.wait()


def main() -> None:
    """Work for a minute."""
    import django

    django.setup()
    from budget.jobs.batches import runner

    runner.work(60)


if __name__ == "__main__":
    main()
