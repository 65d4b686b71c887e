"""Telling whoever wants to know that a job has ended."""

from budget.ledger.job_operations import Finished
from budget.ledger.protocol import Answer
from budget.signals import ended

GOES_ON = ("queued", "running")


def announce(finished: Answer) -> None:
    """Send `budget.signals.ended`, unless the job goes on or was ended by somebody else."""
    assert isinstance(finished, Finished), "the answer to a Finish or a CancelJob"
    if finished.accepted and finished.state not in GOES_ON:
        ended.send_robust(announce, job_id=finished.id, state=finished.state)
