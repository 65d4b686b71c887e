"""The naive ways: one locked row and one durable transaction per admission.

Both check the same three limits and the strictest class's floor as the ledger's policy has,
and write the decision with its arithmetic.
"""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import uuid4

import psycopg
from django.db import connections, transaction
from django.utils import timezone
from psycopg.types.json import Jsonb

from bench.models import Balance, Decision

POOL = "bench"
AMOUNT = 1_000_000_000
CAPACITY = AMOUNT / 4
PER_SECOND = AMOUNT / 60
FLOOR = 0.5

LOCK = """
SELECT updated_at, tokens, requests, held, floor_tokens, clock_timestamp()
FROM bench_balance WHERE pool = %s FOR UPDATE
"""
CHARGE = """
UPDATE bench_balance SET updated_at = %s, tokens = %s, requests = %s, held = %s, floor_tokens = %s
WHERE pool = %s
"""
WRITE_DOWN = """
INSERT INTO bench_decision (id, pool, workload_class, decided_at, admitted, tokens, arithmetic)
VALUES (%s, %s, %s, %s, %s, %s, %s)
"""


class Levels(NamedTuple):
    """What a pool has left."""

    tokens: float
    requests: float
    held: int
    floor_tokens: float

    def refilled(self, seconds: float) -> "Levels":
        """The levels that much later."""
        gained = max(0.0, seconds) * PER_SECOND
        return Levels(
            min(CAPACITY, self.tokens + gained),
            min(CAPACITY, self.requests + gained),
            self.held,
            min(FLOOR * CAPACITY, self.floor_tokens + FLOOR * gained),
        )

    def admits(self, workload_class: str, tokens: int) -> bool:
        """Whether all limits have room outside the strictest class's floor."""
        kept = 0.0 if workload_class == "adjuster" else self.floor_tokens
        return tokens <= self.tokens - kept and self.requests >= 1 and self.held < AMOUNT

    def charged(self, workload_class: str, tokens: int) -> "Levels":
        """The levels after the call."""
        from_floor = tokens if workload_class == "adjuster" else 0
        return Levels(
            self.tokens - tokens,
            self.requests - 1,
            self.held + 1,
            max(0.0, self.floor_tokens - from_floor),
        )


FULL = Levels(CAPACITY, CAPACITY, 0, FLOOR * CAPACITY)


def fill_balance() -> None:
    """Makes the pool's row anew, full."""
    Balance.objects.all().delete()
    Balance.objects.create(pool=POOL, updated_at=timezone.now(), **FULL._asdict())


@transaction.atomic
def admit_by_orm(workload_class: str, tokens: int) -> bool:
    """Admits through Django's ORM."""
    balance = Balance.objects.select_for_update().get(pool=POOL)
    now = timezone.now()
    levels, admitted = _decide(_levels(balance), balance.updated_at, now, workload_class, tokens)
    for name, value in levels._asdict().items():
        setattr(balance, name, value)
    balance.updated_at = now
    balance.save()
    Decision.objects.create(
        id=uuid4(),
        pool=POOL,
        workload_class=workload_class,
        decided_at=now,
        admitted=admitted,
        tokens=tokens,
        arithmetic=levels._asdict(),
    )
    return admitted


def admit_by_sql(connection: psycopg.Connection[Any], workload_class: str, tokens: int) -> bool:
    """Admits by three statements on a connection of its own."""
    with connection.transaction(), connection.cursor() as cursor:
        row = cursor.execute(LOCK, (POOL,)).fetchone()
        assert row is not None, "fill_balance comes first"
        updated_at, *left, now = row
        levels, admitted = _decide(Levels(*left), updated_at, now, workload_class, tokens)
        cursor.execute(CHARGE, (now, *levels, POOL))
        cursor.execute(
            WRITE_DOWN,
            (uuid4(), POOL, workload_class, now, admitted, tokens, Jsonb(levels._asdict())),
        )
    return admitted


def connect() -> psycopg.Connection[Any]:
    """A plain connection to Django's database."""
    params = connections["default"].get_connection_params()
    for name in ("cursor_factory", "context", "prepare_threshold"):
        params.pop(name, None)
    return psycopg.connect(**params, autocommit=True)


def _levels(balance: Balance) -> Levels:
    return Levels(*(getattr(balance, name) for name in Levels._fields))


def _decide(
    levels: Levels, updated_at: datetime, now: datetime, workload_class: str, tokens: int
) -> tuple[Levels, bool]:
    levels = levels.refilled((now - updated_at).total_seconds())
    admitted = levels.admits(workload_class, tokens)
    return (levels.charged(workload_class, tokens) if admitted else levels), admitted
