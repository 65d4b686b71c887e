"""The clusters that run jobs, beside the web process."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from budget import conf
from claims_demo.environment import data_dir
from claims_demo.processes import STOP_SECONDS, ProcessFailed, release, start

KILL_SECONDS = 2.0


class ClusterProcess(NamedTuple):
    """A running cluster."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def require_running(self) -> None:
        """Raises ProcessFailed when it has ended."""
        if self.process.poll() is not None:
            raise ProcessFailed(f"The cluster {self.name} has ended: {self.log} says why.")


@contextlib.contextmanager
def clusters() -> Iterator[list[ClusterProcess]]:
    """Runs each cluster of `BUDGET_CLUSTERS` while the block runs.

    Each logs to a file of its own in the data directory, which begins anew every time.

    They may still be on their way up as the block is entered.
    """
    started: list[ClusterProcess] = []
    try:
        for name in conf.clusters():
            started.append(_start(name))
        yield started
    finally:
        _stop([cluster.process for cluster in started])


def _start(name: str) -> ClusterProcess:
    log = data_dir() / f"{name}.log"
    with log.open("wb") as output:
        process = start("django", "run_jobs", name, output=output, Q_CLUSTER_NAME=name)
    return ClusterProcess(name, process, log)


def _stop(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Ends clusters together, in an orderly way, or the hard way if that takes too long.

    Only a cluster's first process is told, once: signalled themselves, the others would drop
    their jobs. Whatever it left behind is killed: its session may have outlived it.
    """
    for process in processes:
        if process.poll() is None:
            process.terminate()
    until = time.monotonic() + STOP_SECONDS
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, until - time.monotonic()))
        _kill_session(process)
        release(process)


def _kill_session(leader: subprocess.Popen[bytes]) -> None:
    """Kills what is left of a session, and waits until it is gone: it uses the database."""
    until = time.monotonic() + KILL_SECONDS
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < until:
            os.killpg(leader.pid, signal.SIGKILL)
            leader.poll()
            time.sleep(0.05)
