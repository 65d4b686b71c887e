"""Makes pools, and asks them for admissions."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from uuid import UUID

from django.db import connections, transaction

from budget import services
from budget.ledger.ids import new_id
from budget.ledger.operations import Admission, AdmissionRequest, Admit
from budget.ledger.submission import Submission
from budget.models import Limit, Pool, Reservation, WorkloadClass
from tests.policies import constraints_left_to_the_database

T = TypeVar("T")

TOKENS_A_MINUTE = {
    "unit": "total_tokens",
    "algorithm": "token_bucket",
    "amount": 600_000,
    "burst_percent": 10,
}
"""60,000 tokens when full, 10,000 a second."""
WIDE_WINDOW = {"unit": "total_tokens", "algorithm": "sliding_window", "amount": 100_000}


def make_classes() -> dict[str, WorkloadClass]:
    """One class per tier."""
    made = [
        WorkloadClass(slug="adjuster", tier="interactive", deadline_seconds=5),
        WorkloadClass(slug="rescore", tier="near_line", deadline_seconds=300),
        WorkloadClass(slug="nightly", tier="bulk", deadline_seconds=28_800),
    ]
    with constraints_left_to_the_database():
        for workload_class in made:
            workload_class.save()
    return {workload_class.slug: workload_class for workload_class in made}


def make_pool(
    *limits: dict[str, Any],
    slug: str = "claims",
    shares: dict[str, int] | None = None,
    **fields: Any,
) -> Pool:
    """A pool with those limits (default: `TOKENS_A_MINUTE`) and those shares in percent."""
    with constraints_left_to_the_database(), transaction.atomic():
        pool = Pool.objects.create(slug=slug, **{"provider": "openai", **fields})
        for limit in limits or (TOKENS_A_MINUTE,):
            Limit.objects.create(pool=pool, **limit)
        for name, share in (shares or {}).items():
            Reservation.objects.create(
                pool=pool,
                workload_class=WorkloadClass.objects.get(slug=name),
                share_percent=share,
            )
    return pool


def request(workload_class: str | None = "adjuster", tokens: int = 1000, **fields: Any) -> Any:
    """A request for a call of that many input tokens on the claims pool."""
    return AdmissionRequest(
        **{
            "pool": "claims",
            "workload_class": workload_class,
            "input_tokens": tokens,
            "output_tokens": 0,
            **fields,
        }
    )


def admit(workload_class: str | None = "adjuster", tokens: int = 1000, **fields: Any) -> Admission:
    """Ask for a call of that many input tokens on the claims pool."""
    return services.admit(request(workload_class, tokens, **fields))


def submission(pool_id: int, wanted: AdmissionRequest) -> Submission:
    """A request on its way to the ledger, as `services` sends it."""
    fingerprint = wanted.fingerprint if wanted.idempotency_key else ""
    return Submission(Admit(id=new_id(pool_id), request=wanted, fingerprint=fingerprint))


def settle(call_id: UUID, tokens: int) -> None:
    """Settle a call that used that many input tokens."""
    services.settle(call_id, "succeeded", input_tokens=tokens)


def available(limit: int = 0, slug: str = "claims") -> float:
    """What is left of the pool's first (or another) limit now."""
    left: float = services.pool_view(slug)["limits"][limit]["available"]
    return left


def together(count: int, task: Callable[[], T]) -> list[T]:
    """The results of a task run in so many threads at once."""

    def run(_: int) -> T:
        try:
            return task()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))
