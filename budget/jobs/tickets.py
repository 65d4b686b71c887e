"""Tickets: tasks of django-q that name no job.

A ticket says that there may be something to do in some tiers. Which job that is, and whether
it may run now, is decided as the ticket runs. So a ticket that is lost costs a second, until
the sweeper issues another, and one that is delivered twice finds nothing the second time.
"""

import logging
import time
from collections.abc import Sequence
from typing import cast

from django.db import DatabaseError, InterfaceError
from django.utils import timezone
from django_q.conf import Conf
from django_q.models import OrmQ
from django_q.tasks import async_task

from budget import conf, services
from budget.jobs.crew import crew
from budget.jobs.stopping import is_stopping
from budget.jobs.taking import Taking
from budget.rule.terms import Tier
from budget.services import LedgerUnavailable

logger = logging.getLogger(__name__)

UNREACHABLE = (DatabaseError, InterfaceError, LedgerUnavailable)
"""What the jobs' processes outlive: a database that is away, or too busy."""
WAIT_SECONDS = 0.2
"""How often a ticket that waits looks whether something else has come."""


def run(*tiers: Tier) -> None:
    """Start what there is to do in these tiers, for `BUDGET_TICKET_SECONDS` at most.

    It ends before that when no job runs here and none may within its time. It doesn't wait
    for jobs that take longer: its process does, before it ends.
    """
    until = time.monotonic() + conf.ticket_seconds()
    try:
        _start_jobs(tiers, until)
        issue_if_due(tiers)
    except UNREACHABLE as error:
        logger.warning("A ticket ended early, its jobs go on: %s", error)


def issue_if_due(tiers: Sequence[Tier]) -> None:
    """Issue tickets if a job of these tiers may be taken now."""
    if any(seconds <= 0 for seconds in services.due(tiers).values()):
        issue(tiers)


def issue(tiers: Sequence[Tier]) -> None:
    """Issue a ticket to every cluster that works for one of the tiers, unless one waits there."""
    for cluster, its_tiers in conf.clusters().items():
        if not set(its_tiers).isdisjoint(tiers) and not waits(cluster):
            _issue(cluster, cast("tuple[Tier, ...]", its_tiers))


def waits(cluster: str) -> bool:
    """Whether a ticket waits to be fetched; those fetched may be with a cluster that is dead."""
    return OrmQ.objects.using(Conf.ORM).filter(key=cluster, lock__lte=timezone.now()).exists()


def _start_jobs(tiers: Sequence[Tier], until: float) -> None:
    threads, taking, alone = crew(), Taking(tiers), True
    while (left := until - time.monotonic()) > 0 and not is_stopping():
        if not threads.wait_for_room(min(left, WAIT_SECONDS)):
            continue
        pause = taking.start_on(threads)
        if alone and not threads.free:
            issue_if_due(tiers)
            alone = False
        if pause is None or pause > left:
            if threads.idle:
                return
            pause = left
        if pause:
            threads.wait_for_end(min(pause, WAIT_SECONDS))


def _issue(cluster: str, tiers: Sequence[Tier]) -> None:
    async_task(
        "budget.jobs.tickets.run",
        *tiers,
        cluster=cluster,
        group=cluster,
        timeout=conf.ticket_timeout(),
        ack_failure=True,
        save=False,
    )
