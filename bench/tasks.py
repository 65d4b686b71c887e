"""What the bench's jobs run."""

import time

from budget.tasks import Attempt, task


@task
def nothing(attempt: Attempt) -> None:
    """Ends at once."""


@task
def wait(attempt: Attempt, seconds: float) -> None:
    """Takes its time, as a call to a provider does."""
    time.sleep(seconds)
