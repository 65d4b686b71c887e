"""Clusters as processes of their own, on the tests' database."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from django.db import connection

from budget.models import Job

ROOT = Path(__file__).parents[2]
STANDARD: dict[str, Any] = {"BUDGET_TICKET_SECONDS": 2.0}


class ClusterProcess:
    """`manage.py run_jobs NAME`, with everything it starts in a session of its own."""

    def __init__(self, name: str, log: Path, **settings: Any) -> None:
        self.log = log
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.jobs.settings",
            "CLUSTER_DATABASE": connection.settings_dict["NAME"],
            "CLUSTER_SETTINGS": json.dumps(STANDARD | settings),
            "PYTHONPATH": str(ROOT),
        }
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "django", "run_jobs", name],
                cwd=ROOT,
                env=environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def wait_until_running(self) -> None:
        """Return once its workers wait for tickets."""
        wait_for(lambda: "running." in self.log.read_text(), 30)

    def kill(self) -> None:
        """End all its processes at once, as a failing host does."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds: float = 20.0) -> float:
        """End it in order; how many seconds it took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(seconds) == 0, self.log.read_text()
        return time.monotonic() - began


@contextmanager
def running(directory: Path, *names: str, **settings: Any) -> Iterator[list[ClusterProcess]]:
    """Clusters of those names, which are killed in the end."""
    with ExitStack() as stack:
        started = []
        for number, name in enumerate(names):
            started.append(ClusterProcess(name, directory / f"{name}-{number}.log", **settings))
            stack.callback(started[-1].kill)
        for cluster in started:
            cluster.wait_until_running()
        yield started


def wait_for(condition: Callable[[], Any], seconds: float = 15.0) -> None:
    """Return once the condition holds; fail if it doesn't in time."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"it did not happen: {states()}"
        time.sleep(0.05)


def states() -> dict[str, int]:
    """How many jobs are in each state."""
    found: dict[str, int] = {}
    for state in Job.objects.values_list("state", flat=True):
        found[state] = found.get(state, 0) + 1
    return found


def wait_until_done(seconds: float = 15.0) -> dict[str, int]:
    """The states once no job waits or runs."""
    wait_for(lambda: not {"queued", "running"} & set(states()), seconds)
    return states()
