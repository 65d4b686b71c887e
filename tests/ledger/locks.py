"""A pool whose ledger can't do anything."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from budget.models import Pool, PoolLock


@contextmanager
def locked(pool: Pool) -> Iterator[None]:
    """Somebody else holds on to the pool's lock row while the block runs."""
    with transaction.atomic():
        PoolLock.objects.select_for_update().get(pool_id=pool.pk)
        yield
