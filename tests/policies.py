"""Policies that tests start from."""

from pathlib import Path

from budget.models import Limit, Pool, Reservation, WorkloadClass
from budget.policy.document import read_document
from budget.policy.load import load

CLAIMS = Path(__file__).with_name("claims.yaml")


def claims_pool() -> Pool:
    """The claims platform's pool, stored."""
    load(read_document(CLAIMS.read_bytes()))
    return Pool.objects.get(slug="claims")


def small_pool(slug: str = "small") -> Pool:
    """A pool with one limit and one class that holds 40 % of it, stored."""
    pool = Pool.objects.create(slug=slug, provider="openai")
    Limit.objects.create(pool=pool, unit="requests", algorithm="token_bucket", amount=600)
    member, _ = WorkloadClass.objects.get_or_create(
        slug="chat", defaults={"tier": "interactive", "deadline_seconds": 5}
    )
    Reservation.objects.create(pool=pool, workload_class=member, share_percent=40)
    return pool
