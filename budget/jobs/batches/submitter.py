"""Sends a batch to the provider, once."""

from datetime import datetime, timedelta

from django.utils import timezone

from budget import services
from budget.jobs.batches import hold, members
from budget.jobs.batches.endpoint import (
    CLOCKS_APART,
    Endpoint,
    EndpointTrouble,
    Sending,
)
from budget.jobs.batches.endpoints import endpoint_of
from budget.models import JobBatch, Pool

GRACE = timedelta(minutes=1)
"""How much too late for its window a request is still sent."""
LATE = timedelta(minutes=5)
"""How long after its collection a batch can do with the leases of its collection."""
LEASE_AFTER = timedelta(hours=1)
"""How much longer than its window a batch may take before its jobs are given to others."""
NOT_STARTED = {"busy", "account", "money", "missing", "refused", "unreached"}
"""Troubles after which the provider has certainly started nothing."""


def submit(batch: JobBatch, pool: Pool, until: float) -> None:
    """Send a batch that isn't sent yet.

    1. If it may have been sent before, look for it at the provider, and take it from there.
    2. Jobs that were cancelled meanwhile, or can't wait for the window any more, leave it.
    3. The leases of the others last for its window, which begins only now.
    4. Store the requests, note where; note that it is being sent; send it, note its name.
       Whoever comes after a worker that died between two of these goes on from the last note.
    """
    endpoint = endpoint_of(pool)
    if batch.submitted_at is not None:
        name = endpoint.find(sending_of(batch, batch.submitted_at))
        if name is not None:
            _note_sent(batch, name)
            return
    _let_leave(batch, pool)
    if not batch.requests:
        members.close(batch, JobBatch.State.FAILED, batch.error or "All its jobs have left it.")
        return
    # Left alone by its jobs for too long, a file may be gone by now.
    fresh = not batch.input_file
    try:
        if fresh:
            with hold.kept(batch):
                file = endpoint.upload(members.requests(batch))
            hold.keep(batch, input_file=file)
        hold.keep(batch, submitted_at=timezone.now())
        _create(batch, endpoint)
    except EndpointTrouble as error:
        if not fresh and error.trouble.kind in ("refused", "missing"):
            hold.rest(batch, input_file="", error=str(error))
        elif error.trouble.kind == "refused":
            _reject(batch, error)
        else:
            raise


def sending_of(batch: JobBatch, since: datetime) -> Sending:
    """What the provider may know a batch by that was first about to be sent then."""
    others = JobBatch.objects.exclude(pk=batch.pk).exclude(provider_id="")
    recent = others.exclude(finished_at__lt=since - CLOCKS_APART)
    taken = frozenset(recent.values_list("provider_id", flat=True))
    return Sending(batch.pk, batch.input_file, batch.requests, since, taken)


def _create(batch: JobBatch, endpoint: Endpoint) -> None:
    assert batch.submitted_at is not None, "noted before"
    sending = sending_of(batch, batch.submitted_at)
    try:
        with hold.kept(batch):
            name = endpoint.create(sending, members.requests(batch))
    except EndpointTrouble as error:
        if error.trouble.kind in NOT_STARTED:
            hold.keep(batch, submitted_at=None)
        raise
    _note_sent(batch, name)


def _note_sent(batch: JobBatch, name: str) -> None:
    hold.rest(batch, state=JobBatch.State.RUNNING, provider_id=name, looks=0, error="")


def _let_leave(batch: JobBatch, pool: Pool) -> None:
    """Let go of jobs, and hold on to the others for a window from now on.

    Those who left, or whose lease is over, mustn't be in a file that is sent nevertheless.
    """
    now, window = timezone.now(), timedelta(hours=pool.batch_window_hours)
    if now > batch.created_at + LATE:
        services.renew_batch(pool.pk, batch.pk, now + window + LEASE_AFTER)
    members.give_back_cancelled(batch)
    members.send_back_late(batch, now + window - GRACE)
    count, size = members.size(batch)
    if count != batch.requests:
        hold.keep(batch, input_file="", submitted_at=None, requests=count, size=size)


def _reject(batch: JobBatch, error: EndpointTrouble) -> None:
    """Fail the requests that are at fault, or all if the provider doesn't say which."""
    members.finish_all(
        members.faulted(job, error.faults, str(error)) for job in list(members.running(batch))
    )
    members.close(batch, JobBatch.State.FAILED, str(error))
