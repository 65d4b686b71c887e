"""One attempt at a job, from the function it names to the ending the ledger is told."""

import logging
import time
import traceback
from collections.abc import Sequence
from math import isfinite
from uuid import UUID

from budget import services, tasks
from budget.ledger.job_operations import Ending, Finish
from budget.ledger.operations import Outcome
from budget.models import Job
from budget.providers.answers import storable
from budget.services import LedgerUnavailable, TakenJob, UnknownJob

logger = logging.getLogger(__name__)

OWN_WORDS = (tasks.TryAgain, tasks.GiveUp, tasks.BadResult, tasks.UnknownTask)
"""Errors whose message says it all."""
LONGEST_ERROR = 2_000
"""Characters of a job's error."""
DEPLOY_SECONDS = 30.0
"""How long a job rests whose task isn't known here, or not yet."""
LONGEST_REST = 86_400.0
"""Seconds; a provider that asks for more is asked again after a day."""
REPORTING_SECONDS = 60.0
"""How long a ledger that doesn't answer is told again what became of an attempt."""
PAUSE_SECONDS = 0.5
LONGEST_TRACEBACK = 20_000
"""Characters of a failure in the log."""


def attempt_at(job: TakenJob) -> tasks.Attempt:
    """What its task gets."""
    return tasks.Attempt(
        job_id=job.id,
        call_id=job.call_id,
        pool=job.pool,
        workload_class=job.workload_class,
        number=job.attempt,
        deadline=job.deadline,
        lease_expires=job.lease_expires,
    )


def running_calls(job_ids: Sequence[UUID]) -> set[UUID]:
    """The calls of those jobs that run: an attempt with another one is nobody's any more."""
    if not job_ids:
        return set()
    running = Job.objects.filter(pk__in=job_ids, state=Job.State.RUNNING)
    return {call for call in running.values_list("call_id", flat=True) if call is not None}


def run(job: TakenJob, attempt: tasks.Attempt) -> Finish:
    """Run a job's task and say how that ended. Whatever it raises is an ending, too."""
    try:
        result = tasks.find(job.task).run(attempt, job.args)
    except tasks.TryAgain as error:
        return _ending(job, attempt, "sent_away", "rate_limited", error, rest=_rest(error))
    except (tasks.GiveUp, tasks.BadResult) as error:
        return _ending(job, attempt, "failed", "failed", error, final=True)
    except tasks.UnknownTask:
        missing = tasks.UnknownTask(f"This worker has no task {job.task}: is it deployed?")
        return _ending(job, attempt, "sent_away", "cancelled", missing, rest=DEPLOY_SECONDS)
    except BaseException as error:  # a task's sys.exit() must not lose its job
        logger.warning("Attempt %d at job %s failed.\n%s", job.attempt, job.id, _told(error))
        return _ending(job, attempt, "failed", "failed", error)
    ending = _ending(job, attempt, "succeeded", "succeeded")
    ending.result = result
    return ending


def report(ending: Finish) -> None:
    """Tell the ledger, for as long as that may help: after that the lease's end tells it."""
    until = time.monotonic() + REPORTING_SECONDS
    while True:
        try:
            services.finish(ending)
        except LedgerUnavailable as error:
            if time.monotonic() > until:
                logger.error("The end of an attempt at job %s got lost: %s", ending.id, error)
                return
            time.sleep(PAUSE_SECONDS)
        except UnknownJob as error:
            logger.warning("%s", error)
            return
        else:
            return


def _ending(
    job: TakenJob,
    attempt: tasks.Attempt,
    ending: Ending,
    outcome: Outcome,
    error: BaseException | None = None,
    rest: float | None = None,
    final: bool = False,
) -> Finish:
    used = attempt.usage
    return Finish(
        id=job.id,
        call_id=job.call_id,
        ending=ending,
        outcome=outcome,
        input_tokens=used[0] if used else None,
        output_tokens=used[1] if used else None,
        cached_input_tokens=used[2] if used else 0,
        error="" if error is None else _in_words(error),
        rest_seconds=rest,
        final=final,
    )


def _rest(error: tasks.TryAgain) -> float | None:
    """How long a provider wants to be left alone; "not at all" is no answer to a refusal."""
    seconds = error.seconds
    if seconds is None or not isfinite(seconds) or seconds <= 0:
        return None
    return min(float(seconds), LONGEST_REST)


def _told(error: BaseException) -> str:
    """Its traceback, as any log can hold it."""
    try:
        text = "".join(traceback.format_exception(error))
    except Exception:  # somebody else's code
        text = type(error).__name__
    return _cut(text, LONGEST_TRACEBACK).encode("utf-8", "backslashreplace").decode()


def _in_words(error: BaseException) -> str:
    """Its type and message, as the database can store it."""
    try:
        message = str(error)
    except Exception:  # somebody else's code
        message = "(it cannot say what)"
    own = isinstance(error, OWN_WORDS)
    text = message if own and message else f"{type(error).__name__}: {message}"
    return _cut(storable(text), LONGEST_ERROR)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
