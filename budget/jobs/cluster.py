"""A django-q cluster that stops within seconds, whatever waits."""

import signal
from types import FrameType
from typing import Any

from django_q.cluster import Cluster

from budget.jobs import stopping

ENDING = (signal.SIGINT, signal.SIGTERM)


class JobCluster(Cluster):
    """Its tickets make way once it is told to stop; jobs that run are waited for.

    The first SIGTERM or SIGINT counts. A second one, handled within the first, could wait
    for a lock that the first holds, and for ever.
    """

    def sig_handler(self, number: int, frame: FrameType | None) -> None:
        """Stop; called by django-q's own signal handlers."""
        for ending in ENDING:
            signal.signal(ending, signal.SIG_IGN)
        stopping.announce()
        if self.sentinel is None:
            raise SystemExit(0)
        super().sig_handler(number, frame)

    def run(self) -> Any:
        """Work until told to stop; returns the exit code of django-q's sentinel."""
        self.start()
        self.sentinel.join()
        return self.sentinel.exitcode
