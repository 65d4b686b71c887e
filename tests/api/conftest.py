"""The claims policy, and callers that differ in their rights."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from budget.api import authentication
from budget.ledger.connection import connect
from budget.ledger.writers import stop_writers
from budget.models import ApiKey, Limit, Pool, Reservation, WorkloadClass
from tests.jobs.queueing import ECHO
from tests.policies import constraints_left_to_the_database

ADMISSIONS = "/api/v1/admissions"
JOBS = "/api/v1/jobs"
CALL = {
    "pool": "claims",
    "workload_class": "adjuster",
    "input_tokens": 900,
    "output_tokens": 100,
}
JOB = {
    "pool": "claims",
    "workload_class": "rescore",
    "task": ECHO,
    "input_tokens": 900,
    "output_tokens": 100,
}


@dataclass
class Caller:
    """A client with (or, if None, without) an API key."""

    key: str | None

    def get(self, path: str, **headers: str) -> HttpResponse:
        return Client().get(path, headers=self._headers(headers))

    def post(self, path: str, body: Any, **headers: str) -> HttpResponse:
        """Posts JSON; bytes go out as they are."""
        headers = {"Content-Type": "application/json", **headers}
        return Client().post(
            path, body, content_type="application/json", headers=self._headers(headers)
        )

    def admit(self, headers: dict[str, str] | None = None, **changes: Any) -> HttpResponse:
        return self.post(ADMISSIONS, CALL | changes, **(headers or {}))

    def enqueue(self, headers: dict[str, str] | None = None, **changes: Any) -> HttpResponse:
        return self.post(JOBS, JOB | changes, **(headers or {}))

    def settle(self, admission_id: str, **body: Any) -> HttpResponse:
        return self.post(f"{ADMISSIONS}/{admission_id}/settle", body)

    def _headers(self, more: dict[str, str]) -> dict[str, str]:
        return more if self.key is None else {"Authorization": f"Api-Key {self.key}", **more}


@pytest.fixture(autouse=True)
def _own_writers() -> Iterator[None]:
    yield
    stop_writers()


@pytest.fixture(autouse=True)
def _no_verdict_from_an_earlier_test() -> Iterator[None]:
    authentication.forget_keys()
    yield
    authentication.forget_keys()


@pytest.fixture
def classes(db: None) -> dict[str, WorkloadClass]:
    made = [
        WorkloadClass(slug="adjuster", tier="interactive", deadline_seconds=5),
        WorkloadClass(slug="rescore", tier="near_line", deadline_seconds=300),
        WorkloadClass(slug="nightly", tier="bulk", deadline_seconds=28_800),
    ]
    return {workload_class.slug: workload_class for workload_class in map(_saved, made)}


@pytest.fixture
def pool(classes: dict[str, WorkloadClass]) -> Pool:
    """400,000 tokens a minute with floors of 50 % and 20 %: the bucket holds 100,000."""
    with transaction.atomic():
        pool = _saved(Pool(slug="claims", provider="anthropic"))
        _saved(Limit(pool=pool, unit="total_tokens", algorithm="token_bucket", amount=400_000))
        _saved(Limit(pool=pool, unit="requests", algorithm="token_bucket", amount=1000))
        _saved(Limit(pool=pool, unit="requests", algorithm="gauge", amount=40))
        for slug, share in (("adjuster", 50), ("rescore", 20), ("nightly", 0)):
            _saved(Reservation(pool=pool, workload_class=classes[slug], share_percent=share))
    return pool


@pytest.fixture
def small_pool(classes: dict[str, WorkloadClass]) -> Pool:
    """600 tokens a minute in a window, nothing reserved."""
    for workload_class in classes.values():
        workload_class.max_call_tokens = 600
        workload_class.save(update_fields=["max_call_tokens"])
    with transaction.atomic():
        pool = _saved(Pool(slug="small", provider="anthropic"))
        _saved(Limit(pool=pool, unit="total_tokens", algorithm="sliding_window", amount=600))
    return pool


@pytest.fixture
def caller(pool: Pool) -> Caller:
    """May do everything."""
    return Caller(make_key("all"))


@pytest.fixture
def other_caller(pool: Pool) -> Caller:
    """May do everything too, but has a key of its own."""
    return Caller(make_key("other"))


@pytest.fixture
def nightly_caller(pool: Pool, classes: dict[str, WorkloadClass]) -> Caller:
    """Bound to the class `nightly`."""
    return Caller(make_key("nightly", classes=[classes["nightly"]]))


@pytest.fixture
def elsewhere_caller(pool: Pool) -> Caller:
    """Bound to another pool."""
    return Caller(
        make_key("elsewhere", pools=[Pool.objects.create(slug="elsewhere", provider="openai")])
    )


@pytest.fixture
def revoked_caller(pool: Pool) -> Caller:
    return Caller(make_key("revoked", revoked=True))


@pytest.fixture
def expired_caller(pool: Pool) -> Caller:
    return Caller(make_key("expired", expiry_date=timezone.now() - timedelta(seconds=1)))


@pytest.fixture
def stranger() -> Caller:
    """Has no key."""
    return Caller(None)


def make_key(
    name: str,
    classes: list[WorkloadClass] | None = None,
    pools: list[Pool] | None = None,
    **fields: Any,
) -> str:
    """A new API key for the given classes and pools; for all when None."""
    made, key = ApiKey.objects.create_key(
        name=name, all_classes=classes is None, all_pools=pools is None, **fields
    )
    made.classes.set(classes or [])
    made.pools.set(pools or [])
    return key


@contextmanager
def lock_held(pool: Pool) -> Iterator[None]:
    """Somebody else holds the pool's lock, so that its ledger cannot decide."""
    with connect() as other:
        other.execute("BEGIN")
        other.execute("SELECT FROM budget_poollock WHERE pool_id = %s FOR UPDATE", (pool.pk,))
        yield


def _saved(row: Any) -> Any:
    with constraints_left_to_the_database():
        row.save()
    return row
