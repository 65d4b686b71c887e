"""The batch endpoint, which has an allowance of its own: nothing there draws on the pool."""

from collections import Counter

from django.db.models import Max, Sum

from budget.models import Call, JobBatch, Pool
from claims_demo.claims import POOL


def at_provider() -> int:
    """Jobs sent in batches whose results aren't there yet."""
    open_ones = JobBatch.objects.filter(pool_id=_pool_id(), finished_at=None)
    return open_ones.exclude(provider_id="").aggregate(jobs=Sum("requests"))["jobs"] or 0


class Batched:
    """Counts the jobs that the batch endpoint's limits admitted, by workload class."""

    def __init__(self) -> None:
        self._pool = _pool_id()
        calls = Call.objects.filter(pool_id=self._pool)
        self._seen = calls.aggregate(last=Max("seq"))["last"] or 0

    def turn(self) -> Counter[str]:
        """Those since it was last looked."""
        if self._pool != (pool := _pool_id()):
            self._pool, self._seen = pool, 0
        new = Call.objects.filter(pool_id=pool, seq__gt=self._seen)
        calls = list(new.values_list("seq", "workload_class", "of_batch"))
        self._seen = max([self._seen, *(seq for seq, _, _ in calls)])
        return Counter(slug for _, slug, of_batch in calls if of_batch)


def _pool_id() -> int:
    """0 once an edit has taken the pool away."""
    return Pool.objects.filter(slug=POOL).values_list("pk", flat=True).first() or 0
