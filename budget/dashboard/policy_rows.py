"""The policy of a pool as pages read it, kept until another version follows."""

from functools import lru_cache
from typing import NamedTuple

from django.db import connection
from django.http import Http404

from budget.models import Pool, WorkloadClass

POOLS = Pool.objects.prefetch_related("limits", "reservations__workload_class")
KEPT = 64

VERSION = """
SELECT p.id, v.version FROM budget_pool p JOIN budget_policyversion v ON v.pool_id = p.id
WHERE p.slug = %s
"""


class PolicyRows(NamedTuple):
    """A pool and all classes there are. Shared by threads: nobody may change them."""

    pool: Pool
    """With its limits, and its reservations with their classes, at hand."""
    classes: list[WorkloadClass]
    """Strictest first."""


def policy_rows(slug: str) -> PolicyRows:
    """The rows as they are now, read only if the policy changed. Raises Http404."""
    with connection.cursor() as cursor:
        cursor.execute(VERSION, [slug])
        found = cursor.fetchone()
    if found is None:
        raise Http404(f"There is no pool {slug!r}.")
    return _rows(*found)


@lru_cache(maxsize=KEPT)
def _rows(pool_id: int, version: int) -> PolicyRows:
    """The rows as of a version, or as changed this very moment, when another one is current."""
    return PolicyRows(POOLS.get(pk=pool_id), list(WorkloadClass.objects.all()))
