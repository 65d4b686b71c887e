"""Bulk jobs of a pool with a batch endpoint, as a producer and the runner see them."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from budget import services
from budget.jobs import llm
from budget.jobs.batches import runner
from budget.models import Job, JobBatch, Limit, Pool, WorkloadClass
from tests.jobs.provider import Provider
from tests.ledger.pools import make_pool

ADDRESSES = {"openai": "/v1", "anthropic": ""}
ENQUEUED_TOKENS = {"unit": "total_tokens", "algorithm": "gauge", "amount": 100_000}
DAYS = 2


def make_bulk_pool(provider: Provider | str, kind: str, **fields: Any) -> Pool:
    """The claims pool with a class `nightly` that has two days, and no collecting time."""
    WorkloadClass.objects.create(slug="nightly", tier="bulk", deadline_seconds=DAYS * 86_400)
    base_url = provider if isinstance(provider, str) else provider.url + ADDRESSES[kind]
    wanted = {"batch": True, "batch_collect_seconds": 0, **fields}
    pool = make_pool(provider=kind, base_url=base_url, **wanted)
    Limit.objects.create(pool=pool, of_batch=True, **ENQUEUED_TOKENS)
    return pool


def ask(text: str = "ok", model: str = "small", **fields: Any) -> Any:
    """Enqueue one request for the LLM; the id of its job."""
    args = {"model": model, "max_tokens": 50, "messages": [{"role": "user", "content": text}]}
    wanted = {"input_tokens": 100, "output_tokens": 50, **fields}
    return services.enqueue("claims", "nightly", llm.NAME, args, **wanted).id


def work(seconds: float = 10) -> None:
    """One ticket's worth, once every rest is over: up to the next rest."""
    JobBatch.objects.update(next_look_at=timezone.now() - timedelta(seconds=1))
    runner.work(seconds)


def work_until_closed(rounds: int = 12) -> list[JobBatch]:
    """As many tickets as it takes; the batches in the order they were opened."""
    for _ in range(rounds):
        work()
        if not JobBatch.objects.exclude(state__in=["done", "failed"]).exists():
            break
    return list(JobBatch.objects.order_by("created_at", "id"))


def states(*ids: Any) -> list[str]:
    """Of those jobs."""
    found = dict(Job.objects.values_list("pk", "state"))
    return [found[job_id] for job_id in ids]


def enqueued_tokens() -> float:
    """What the batch endpoint's gauge holds."""
    (limit,) = services.pool_view("claims")["batch_limits"]
    return float(limit["amount"] - limit["available"])
