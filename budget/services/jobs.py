"""Jobs: enqueue, look at, cancel."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from uuid import UUID

from budget import tasks
from budget.ledger import pools
from budget.ledger.errors import Forbidden, Implausible, JobEnded, Shed, UnknownJob, UnknownPool
from budget.ledger.ids import new_id
from budget.ledger.job_operations import CancelJob, Enqueue, Enqueued, JobRequest
from budget.ledger.jobs import description, descriptions
from budget.ledger.operations import (
    IN_PROCESS,
    Admission,
    Caller,
    check_request,
    check_text,
)
from budget.ledger.writers import answer_of, patience
from budget.services.asking import answer_by_slug, ask_known, submitted
from budget.services.endings import announce
from budget.signals import enqueued


def enqueue(
    pool: str,
    workload_class: str,
    task: str,
    args: dict[str, Any] | None = None,
    *,
    input_tokens: int,
    output_tokens: int,
    deadline_ms: int | None = None,
    source: str = "",
    tags: dict[str, str] | None = None,
    idempotency_key: str | None = None,
    caller: Caller = IN_PROCESS,
) -> Enqueued:
    """Give a job its place in the queue of its class, with a deadline that counts from now.

    `task` is the dotted name of a registered task, `args` its arguments by name; tokens are
    the estimate of its one call. The same idempotency key within 24 h finds the same job.
    Raises Shed when the queue is full, or the class takes no jobs now, or the job could never
    be run; Implausible, Forbidden, UnknownPool, UnknownClass, KeyReused, LedgerUnavailable.
    """
    request = JobRequest(
        pool=pool,
        workload_class=workload_class,
        task=task,
        args="{}",
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        deadline_ms=deadline_ms,
        source=source,
        tags=tags or {},
        idempotency_key=idempotency_key,
    )
    check_request(request)
    check_text("task", task, shortest=1)
    _fill_in(request, {} if args is None else args)
    if caller.pools is not None and pool not in caller.pools:
        raise Forbidden(f"This key may not use the pool {pool!r}.")
    until = patience()
    operation = Enqueue(
        id=new_id(pools.pool_id(pool)),
        request=request,
        caller=caller,
        fingerprint="" if idempotency_key is None else request.fingerprint,
    )
    answer = answer_by_slug(submitted(operation), pool, until)
    if isinstance(answer, Admission):
        raise Shed(answer)
    assert isinstance(answer, Enqueued), "the answer to an Enqueue"
    enqueued.send_robust(enqueue, pool=pool, workload_class=workload_class)
    return answer


def job(job_id: UUID | str, caller: Caller = IN_PROCESS) -> dict[str, Any]:
    """A job's state, attempts, deadline, result, error, and what was decided about it.

    Its arguments and its result are what their JSON says. Raises UnknownJob, also for another
    key's job and for what is no id.
    """
    return description(_id(job_id), caller.key_prefix)


def jobs_by_id(job_ids: Iterable[UUID]) -> dict[UUID, dict[str, Any]]:
    """Many jobs as `job` describes each; those that nobody knows of any more are left out."""
    return descriptions(job_ids)


def cancel_job(job_id: UUID | str, caller: Caller = IN_PROCESS, reason: str = "") -> dict[str, Any]:
    """End a job that nobody wants any more, and describe it as `job` does.

    A queued one never starts. A running one is not tried again and its result is dropped;
    what its call uses is accounted. Cancelling once more changes nothing.
    Raises UnknownJob, JobEnded when it has ended otherwise, LedgerUnavailable.
    """
    job_id = _id(job_id)
    unknown = UnknownJob(f"There is no job {job_id}.")
    operation = CancelJob(id=job_id, key_prefix=caller.key_prefix, reason=reason)
    announce(ask_known(operation, unknown))
    return job(job_id, caller)


def cancel_jobs(job_ids: Iterable[UUID], reason: str = "") -> int:
    """Cancel many at once, as `cancel_job` does one; how many are cancelled now.

    Those that ended otherwise are passed over. Raises LedgerUnavailable.
    """
    until = patience()
    submissions = [submitted(CancelJob(id=job_id, reason=reason)) for job_id in job_ids]
    cancelled = 0
    for submission in submissions:
        with suppress(UnknownJob, UnknownPool, JobEnded):
            announce(answer_of(submission, until))
            cancelled += 1
    return cancelled


def _id(text: UUID | str) -> UUID:
    try:
        return text if isinstance(text, UUID) else UUID(text)
    except ValueError:
        raise UnknownJob(f"There is no job {text!r}: that is no job's id.") from None


def _fill_in(request: JobRequest, args: dict[str, Any]) -> None:
    """Put in the arguments, once the task has taken them."""
    try:
        entry = tasks.find(request.task)
        request.args = entry.encode(args)
        request.model = entry.model_of(args)
    except tasks.UnknownTask as error:
        raise Implausible("task", str(error.args[0])) from None
    except tasks.BadArguments as error:
        raise Implausible("args", str(error)) from None
