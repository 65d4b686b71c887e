"""Enqueues, takes and finishes jobs as producers and workers do, without any worker."""

from typing import Any

from budget import services, tasks
from budget.ledger.job_operations import Finish
from budget.models import Pool
from budget.services import Enqueued, Finished, Taken, TakenJob

BOTH = ("near_line", "bulk")


def echo(attempt: tasks.Attempt, **args: Any) -> dict[str, Any]:
    """Returns its arguments."""
    return args


ECHO = "tests.echo"
BATCHED = "tests.batched"
tasks.register(tasks.Task(ECHO, echo))
tasks.register(tasks.Task(BATCHED, echo, batch_model=lambda args: args.get("model")))


def enqueue(workload_class: str = "rescore", tokens: int = 1000, **fields: Any) -> Enqueued:
    """Give a job of that many input tokens its place on the claims pool."""
    wanted: dict[str, Any] = {"task": ECHO, "args": {}, "output_tokens": 0, **fields}
    return services.enqueue("claims", workload_class, input_tokens=tokens, **wanted)


def take(most: int = 1, *tiers: str) -> Taken:
    """Start the jobs that are next on the claims pool."""
    return services.take(Pool.objects.get(slug="claims").pk, tiers or BOTH, most)  # type: ignore[arg-type]


def take_one(*tiers: str) -> TakenJob:
    """Start the job that is next."""
    (job,) = take(1, *tiers).jobs
    return job


def finish(job: TakenJob, **fields: Any) -> Finished:
    """End an attempt as succeeded, with the estimate as usage, unless said otherwise."""
    ending: dict[str, Any] = {"ending": "succeeded", "outcome": "succeeded", **fields}
    return services.finish(Finish(id=job.id, call_id=job.call_id, **ending))
