"""What the demo before left in the database, and the next one mustn't stumble over."""

from budget.jobs.batches import hold, members
from budget.models import JobBatch, Pool, WorkloadClass
from budget.policy.audit import audit
from budget.policy.switches import CLASS_SWITCHES, POOL_SWITCHES
from claims_demo.models.storm import StormControl
from claims_demo.provider import Provider

COMMAND = "make demo"
"""As the history names it."""
UNKNOWN_BATCH = "The local provider that took it is gone."


def clear(slug: str, there: Provider) -> None:
    """Leave the storm to the weather again, resume what is paused, give back lost batches.

    Nothing else may work on the pool's batches meanwhile.
    """
    StormControl.objects.all().delete()
    _resume(slug)
    if there.process is not None:
        _give_back_batches(slug)


def _resume(slug: str) -> None:
    members_of_it = WorkloadClass.objects.filter(reservations__pool__slug=slug)
    with audit(COMMAND, COMMAND):
        turned = (
            POOL_SWITCHES["resume"].turn(Pool.objects.filter(slug=slug)),
            CLASS_SWITCHES["resume"].turn(members_of_it),
        )
    for done in filter(None, turned):
        print(done, flush=True)


def _give_back_batches(slug: str) -> None:
    """A provider that has just been started knows none; asked for them it would say so for long."""
    sent = JobBatch.objects.filter(pool_id__in=Pool.objects.filter(slug=slug).values("pk"))
    for batch in sent.exclude(provider_id="").exclude(state__in=hold.CLOSED):
        members.finish_all(
            members.sent_back(job, UNKNOWN_BATCH) for job in list(members.running(batch))
        )
        members.close(batch, JobBatch.State.FAILED, UNKNOWN_BATCH)
