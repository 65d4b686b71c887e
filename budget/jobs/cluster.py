"""A django-q cluster that stops within seconds, and starts again when it is beyond repair."""

import logging
import time
from multiprocessing import RawValue
from types import FrameType
from typing import Any

from django_q.cluster import Cluster, get_mp_context
from django_q.conf import Conf

from budget.jobs import stopping
from budget.jobs.sentinel import JobSentinel

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
PATIENCE = 30
"""Looks in a row that find no sign of life before a cluster is ended. Not so much time: a host
that slept is no reason."""
SHORTEST_PAUSE, LONGEST_PAUSE = 2.0, 60.0
"""Seconds before it starts again: more than its processes take to end without it."""
RESTART = (
    "The cluster ended by itself (exit code %d). It starts again in %d s, and the jobs that it "
    "ran come back when their leases are over."
)


class JobCluster(Cluster):
    """Its tickets make way once it is told to stop; jobs that run are waited for.

    What is killed in it may take locks along, of which django-q has many. Whatever then no
    longer moves is ended as a whole and begun anew; the jobs it ran come back by their lease.
    """

    def sig_handler(self, number: int, frame: FrameType | None) -> None:
        """Stop; called by django-q's own signal handlers."""
        stopping.announce()

    def start(self) -> int:
        """Start the sentinel, which starts the others."""
        self.pulse: Any = RawValue("L", 0)
        self.sentinel = get_mp_context().Process(
            target=JobSentinel, args=(self.cluster_id, self.pulse)
        )
        self.sentinel.start()
        return int(self.pid)

    def run(self) -> int:
        """Work until told to stop; returns the exit code of the sentinel, 0 if all went well."""
        code, pause = 0, SHORTEST_PAUSE
        while not stopping.is_stopping():
            began = time.monotonic()
            self.start()
            code = self._watch()
            if time.monotonic() - began > LONGEST_PAUSE:
                pause = SHORTEST_PAUSE
            if not stopping.is_stopping():
                logger.error(RESTART, code, pause)
                code = 0
                stopping.wait(pause)
            pause = min(LONGEST_PAUSE, 2 * pause)
        return code

    def _watch(self) -> int:
        """Wait for the sentinel's end, which it is given when it no longer shows life."""
        patience = PATIENCE + Conf.GUARD_CYCLE / LOOK_SECONDS
        seen, missed = -1, 0
        while self.sentinel.is_alive():
            self.sentinel.join(LOOK_SECONDS)
            missed = missed + 1 if seen == self.pulse.value else 0
            seen = self.pulse.value
            if missed > patience:
                logger.critical("The cluster no longer moves, so it is killed.")
                self.sentinel.kill()
        return int(self.sentinel.exitcode or 0)
