"""Asks the provider how a batch stands."""

import logging

from budget.jobs.batches import hold, members
from budget.jobs.batches.endpoint import Endpoint, EndpointTrouble
from budget.jobs.batches.endpoints import endpoint_of
from budget.jobs.batches.submitter import sending_of
from budget.models import JobBatch, Pool

logger = logging.getLogger(__name__)

PATIENCE = 5
"""Looks from which on a batch that the provider doesn't know is given up."""


def look(batch: JobBatch, pool: Pool, until: float) -> None:
    """Look whether a batch has ended; ask less and less often while it has not.

    A batch that nobody waits for any more is cancelled, so that it stops being billed for;
    what it used until then is accounted when it ends.
    """
    endpoint = endpoint_of(pool)
    try:
        seen = endpoint.look(batch.provider_id)
    except EndpointTrouble as error:
        # Twice in a row, and not only since a moment ago: no slip of the provider.
        again = error.trouble.kind in ("missing", "refused") and batch.error == str(error)
        if not again or batch.looks < PATIENCE or _is_listed(endpoint, batch):
            raise
        _give_up(batch, str(error))
        return
    if seen.ended:
        hold.let_go(batch, state=JobBatch.State.ENDED, looks=0, error="")
        return
    if not members.running(batch).exists():
        _cancel(endpoint, batch)
    hold.rest(batch, error="")


def _is_listed(endpoint: Endpoint, batch: JobBatch) -> bool:
    """Whether the provider lists it; at a wrong address, that fails as the look did."""
    assert batch.submitted_at is not None, "noted as it was sent"
    return endpoint.find(sending_of(batch, batch.submitted_at)) == batch.provider_id


def _cancel(endpoint: Endpoint, batch: JobBatch) -> None:
    try:
        endpoint.cancel(batch.provider_id)
    except EndpointTrouble as error:
        # Often only that it is being cancelled already.
        logger.info("Batch %s was not cancelled: %s", batch.pk, error)


def _give_up(batch: JobBatch, error: str) -> None:
    members.finish_all(members.sent_back(job, error) for job in list(members.running(batch)))
    members.close(batch, JobBatch.State.FAILED, error)
