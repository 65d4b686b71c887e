"""Does what is due about batches, a step of one batch at a time."""

import logging
import time
from datetime import datetime, timedelta

from django.utils import timezone

from budget.jobs.batches import collector, hold, members, poller, results, submitter
from budget.jobs.batches.endpoint import EndpointTrouble
from budget.jobs.batches.hold import HoldLost
from budget.models import JobBatch, Pool
from budget.services import BudgetError
from budget.tasks import GiveUp, TryAgain

logger = logging.getLogger(__name__)

STEPS = {
    JobBatch.State.COLLECTING: collector.fill,
    JobBatch.State.SUBMITTING: submitter.submit,
    JobBatch.State.RUNNING: poller.look,
    JobBatch.State.ENDED: results.read,
}
OVERDUE = {
    JobBatch.State.SUBMITTING: "It could not be sent.",
    JobBatch.State.RUNNING: "The provider never ended it.",
    JobBatch.State.ENDED: "The provider never gave its results.",
}
GIVEN_UP_AFTER = timedelta(hours=3)
"""How long after its window: the leases of its jobs are over by then."""


def due(now: datetime) -> bool:
    """Whether there is anything to do about batches."""
    return hold.due(now).exists() or collector.due(now)


def work(seconds: float) -> None:
    """Do what is due, for about so many seconds. Any number of processes may at once."""
    until = time.monotonic() + seconds
    collector.open_batches()
    while time.monotonic() < until and (batch := hold.take()) is not None:
        try:
            _step(batch, until)
        except HoldLost as error:
            logger.warning("%s", error)


def _step(batch: JobBatch, until: float) -> None:
    pool = Pool.objects.filter(pk=batch.pool_id).first()
    try:
        if pool is None:
            members.close(batch, JobBatch.State.FAILED, "Its pool is gone.")
        elif _is_overdue(batch, pool):
            members.close(batch, JobBatch.State.FAILED, OVERDUE[JobBatch.State(batch.state)])
        else:
            STEPS[JobBatch.State(batch.state)](batch, pool, until)
    except EndpointTrouble as error:
        logger.warning("Batch %s: %s", batch.pk, error)
        hold.rest(batch, error=str(error), at_least=error.trouble.seconds or 0)
    except (TryAgain, GiveUp, BudgetError) as error:
        logger.warning("Batch %s: %s", batch.pk, error)
        hold.rest(batch, error=str(error))
    except HoldLost:
        raise
    except Exception as error:
        logger.exception("Batch %s", batch.pk)
        hold.rest(batch, error=f"{type(error).__name__}: {error}")


def _is_overdue(batch: JobBatch, pool: Pool) -> bool:
    """Not as long as it can't have been sent: its jobs leave it by and by."""
    window = timedelta(hours=pool.batch_window_hours)
    sent = batch.submitted_at
    return sent is not None and timezone.now() > sent + window + GIVEN_UP_AFTER
