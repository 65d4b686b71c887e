"""Stored jobs, as producers and workers read them."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import msgspec
from django.db.models import Exists, OuterRef

from budget.ledger.errors import UnknownJob
from budget.ledger.job_operations import Taken
from budget.models import Call, Job, Pool


def description(job_id: UUID, key_prefix: str) -> dict[str, Any]:
    """One job in full; see `services.job`. An empty prefix may see every job.

    Raises UnknownJob, also for another key's job and for one whose pool is gone.
    """
    job = Job.objects.filter(pk=job_id).first()
    pool = None if job is None else Pool.objects.filter(pk=job.pool_id).first()
    if job is None or pool is None or key_prefix not in ("", job.key_prefix):
        raise UnknownJob(f"There is no job {job_id}.")
    return _described(job, pool.slug)


def descriptions(job_ids: Iterable[UUID]) -> dict[UUID, dict[str, Any]]:
    """Many jobs in full, by id; those that are gone, or whose pool is, are left out."""
    slugs = dict(Pool.objects.values_list("pk", "slug"))
    jobs = Job.objects.filter(pk__in=list(job_ids), pool_id__in=slugs)
    return {job.pk: _described(job, slugs[job.pool_id]) for job in jobs}


def leased_with_batch(batch_id: UUID) -> list[UUID]:
    """The calls of a batch's jobs that run with it, in the order of the jobs."""
    collected = Call.objects.filter(pk=OuterRef("call_id"), of_batch=True)
    running = Job.objects.filter(Exists(collected), batch_id=batch_id, state=Job.State.RUNNING)
    return [call for call in running.order_by("pk").values_list("call_id", flat=True) if call]


def with_work(taken: Taken) -> Taken:
    """The same with what is to be run, which the ledger need not carry through its lock."""
    work = Job.objects.filter(pk__in=[job.id for job in taken.jobs])
    found = (
        {row[0]: row[1:] for row in work.values_list("id", "task", "args")} if taken.jobs else {}
    )
    for job in taken.jobs:
        job.task, job.args = found[job.id]
    return taken


def _described(job: Job, pool: str) -> dict[str, Any]:
    return {
        "id": job.id,
        "state": job.state,
        "pool": pool,
        "workload_class": job.workload_class,
        "task": job.task,
        "args": msgspec.json.decode(job.args),
        "input_tokens": job.input_tokens,
        "output_tokens": job.output_tokens,
        "source": job.source,
        "tags": job.tags,
        "enqueued_at": job.enqueued_at,
        "deadline": job.deadline,
        "not_before": job.not_before,
        "attempts": job.attempts,
        "call_id": job.call_id,
        "batch_id": job.batch_id,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "result": None if job.result is None else msgspec.json.decode(job.result),
        "error": job.error or None,
        "trail": job.trail,
    }
