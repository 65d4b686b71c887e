"""A pool's policy, read from its tables in one snapshot."""

import logging
from typing import Any, NamedTuple, Protocol

import msgspec

from budget.models.pool import Limit, Pool
from budget.models.terms import pool_terms
from budget.models.workload import Reservation, WorkloadClass
from budget.rule.terms import PoolTerms

logger = logging.getLogger(__name__)

# One statement, hence one snapshot: the version always names the rows read with it.
POLICY = """
SELECT v.version, (extract(epoch FROM v.changed_at) * 1000000)::bigint, to_jsonb(p)::text,
    (SELECT coalesce(jsonb_agg(l), '[]') FROM budget_limit l WHERE l.pool_id = p.id)::text,
    (SELECT coalesce(jsonb_agg(r), '[]') FROM budget_reservation r WHERE r.pool_id = p.id)::text,
    (SELECT coalesce(jsonb_agg(c), '[]') FROM budget_workloadclass c)::text
FROM budget_pool p JOIN budget_policyversion v ON v.pool_id = p.id
WHERE p.id = %s
"""

REVISION = "SELECT terms::text FROM budget_policyrevision WHERE pool_id = %s AND version = %s"


class Policy(NamedTuple):
    """What a pool's owner wrote, as of one version."""

    terms: PoolTerms
    changed_at: int
    """When that version came to be, in microseconds since the epoch."""


class Cursor(Protocol):
    """What the ledger's own cursors and Django's have in common."""

    def execute(self, query: str, params: Any = None, /) -> Any:
        """Run one statement."""

    def fetchone(self) -> Any:
        """Its next row, or None."""


def load_policy(cursor: Cursor, pool_id: int) -> Policy | None:
    """The current policy of a pool; None if there is no such pool."""
    cursor.execute(POLICY, (pool_id,))
    row = cursor.fetchone()
    if row is None:
        return None
    version, changed_at, *documents = row
    return Policy(_terms(version, *map(msgspec.json.decode, documents)), changed_at)


def load_revision(cursor: Cursor, pool_id: int, version: int) -> PoolTerms | None:
    """The policy as it was at a version the ledger met; None if it is not known."""
    cursor.execute(REVISION, (pool_id, version))
    row = cursor.fetchone()
    try:
        return msgspec.json.decode(row[0], type=PoolTerms) if row else None
    except msgspec.ValidationError as error:
        logger.warning("Version %s of pool %s is in another format: %s", version, pool_id, error)
        return None


def _terms(
    version: int,
    pool_row: dict[str, Any],
    limit_rows: list[dict[str, Any]],
    reservation_rows: list[dict[str, Any]],
    class_rows: list[dict[str, Any]],
) -> PoolTerms:
    classes = {row["id"]: WorkloadClass(**row) for row in class_rows}
    pool = Pool(**pool_row)
    if pool.untagged_class_id is not None:
        pool.untagged_class = classes[pool.untagged_class_id]
    reservations = [Reservation(**row) for row in reservation_rows]
    for reservation in reservations:
        reservation.workload_class = classes[reservation.workload_class_id]
    return pool_terms(
        pool, [Limit(**row) for row in limit_rows], reservations, classes.values(), version
    )
