"""Policies that tests start from."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db.models import Model

from budget.models import Limit, Pool, Reservation, WorkloadClass
from budget.policy.document import read_document
from budget.policy.load import load

CLAIMS = Path(__file__).with_name("claims.yaml")


def claims_pool() -> Pool:
    """The claims platform's pool, stored."""
    with constraints_left_to_the_database():
        load(read_document(CLAIMS.read_bytes()))
    return Pool.objects.get(slug="claims")


@contextmanager
def constraints_left_to_the_database() -> Iterator[None]:
    """For rows known to be right: Django asks about each constraint of each row beforehand.

    That is most of the time a policy takes to store, and the database refuses the same.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Model, "validate_constraints", lambda row, exclude=None: None)
        yield


def small_pool(slug: str = "small") -> Pool:
    """A pool with one limit and one class that holds 40 % of it, stored."""
    pool = Pool.objects.create(slug=slug, provider="openai")
    Limit.objects.create(pool=pool, unit="requests", algorithm="token_bucket", amount=600)
    member, _ = WorkloadClass.objects.get_or_create(
        slug="chat", defaults={"tier": "interactive", "deadline_seconds": 5}
    )
    Reservation.objects.create(pool=pool, workload_class=member, share_percent=40)
    return pool
