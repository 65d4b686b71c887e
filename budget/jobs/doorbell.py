"""Has a ticket issued as soon as a job is enqueued, instead of within a second.

At best: nothing depends on it, so it neither fails an enqueueing nor slows many down.
"""

import logging
import time
from typing import Any, cast

from django.db import connection, connections, transaction
from django_q.conf import Conf

from budget.jobs.tickets import UNREACHABLE, issue
from budget.models import WorkloadClass
from budget.rule.terms import Tier

logger = logging.getLogger(__name__)

QUIET_SECONDS = 0.2
"""How often at most a process looks for a class whether a ticket waits."""

LOCK_TIMEOUT = "1s"
"""How long a caller waits if somebody has locked the table of tickets."""

_looked: dict[str, float] = {}


def ring(sender: Any, workload_class: str, **_: Any) -> None:
    """Issue a ticket for the class's tier, unless this was done a moment ago.

    In a transaction of the caller's a ticket would wait for its end, and break it where it
    fails: so it is issued after that. A thread without a connection is left without one.
    """
    now = time.monotonic()
    if now - _looked.get(workload_class, -QUIET_SECONDS) >= QUIET_SECONDS:
        _looked[workload_class] = now
        connected = connection.connection is not None
        try:
            transaction.on_commit(lambda: _issue_for(workload_class), robust=True)
        finally:
            if not connected:
                connection.close()


def _issue_for(workload_class: str) -> None:
    """Once more if the connection proves dead: who serves no requests has nobody drop it."""
    for again in (True, False):
        try:
            _issue(workload_class)
        except UNREACHABLE as error:
            if again and not connection.is_usable():
                connection.close()
                continue
            logger.warning("No ticket was issued for %s, a sweeper will: %s", workload_class, error)
        return


def _issue(workload_class: str) -> None:
    classes = WorkloadClass.objects.filter(slug=workload_class)
    # In a transaction django-q leaves connections alone; else it would close the caller's.
    with transaction.atomic(using=Conf.ORM):
        with connections[Conf.ORM].cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = %s", [LOCK_TIMEOUT])
        issue(cast("list[Tier]", list(classes.values_list("tier", flat=True))))
