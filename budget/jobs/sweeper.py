"""A thread in every worker that makes lost tickets harmless."""

import logging
import os
import random
import signal
import threading
import time
from collections.abc import Sequence
from typing import Any, cast

from django.db import connections
from django_q.conf import Conf

from budget import conf, services
from budget.jobs.batch_tender import BatchTender
from budget.jobs.crew import crew
from budget.jobs.orphans import end_with_parent
from budget.jobs.stopping import is_stopping
from budget.jobs.tickets import UNREACHABLE, issue_if_due
from budget.rule.terms import Tier

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0
KEEP_SECONDS = 60.0


def start_sweeper(sender: Any, **_: Any) -> None:
    """Start this worker's, if its cluster is one of `BUDGET_CLUSTERS`; it ends with the worker.

    And the worker ends with its cluster.
    """
    tiers = conf.clusters().get(Conf.CLUSTER_NAME)
    if tiers:
        end_with_parent()
        sweeper = Sweeper(cast("tuple[Tier, ...]", tiers))
        threading.Thread(target=sweeper.run, name="budget-sweeper", daemon=True).start()


class Sweeper:
    """Every second, more or less: issue a ticket if jobs are due, and see who was cancelled.

    And it lets the minutes of all pools be recorded, called or not.
    """

    def __init__(self, tiers: Sequence[Tier]) -> None:
        self._tiers = tiers
        self._batches = BatchTender()
        self._unreachable = False
        self._keep_at = 0.0

    def run(self) -> None:
        """Sweep for as long as the worker lives, also through outages of the database."""
        while True:
            # Apart from each other, lest all workers look at the same moment.
            time.sleep(SWEEP_SECONDS * random.uniform(0.75, 1.25))
            # One by one: what goes wrong with one keeps no other from being done.
            for duty in (_end_if_useless, self._sweep_if_possible):
                try:
                    duty()
                except Exception:
                    connections.close_all()
                    logger.exception("The sweeper goes on.")

    def sweep(self) -> None:
        """Once."""
        crew().watch()
        self._keep_minutes()
        if not is_stopping():
            issue_if_due(self._tiers)
            if "bulk" in self._tiers:
                self._batches.tend()

    def _keep_minutes(self) -> None:
        if time.monotonic() >= self._keep_at:
            services.keep_minutes()
            self._keep_at = time.monotonic() + KEEP_SECONDS

    def _sweep_if_possible(self) -> None:
        try:
            self.sweep()
            self._unreachable = False
        except UNREACHABLE as error:
            connections.close_all()
            if not self._unreachable:
                logger.warning("The sweeper goes on when the database answers: %s", error)
            self._unreachable = True


def _end_if_useless() -> None:
    """End a worker that can do nothing more; what its jobs were is tried again already."""
    if crew().stuck:
        logger.error("This worker ends: what it runs hangs, and its leases are over.")
        os.kill(os.getpid(), signal.SIGKILL)
