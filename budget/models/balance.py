"""The tables only the ledger writes. None has a foreign key: they are hot."""

from django.db import models


class PoolLock(models.Model):
    """The row whose lock serialises all writers of a pool. Nothing else writes or references it."""

    pool_id = models.BigIntegerField(primary_key=True)

    def __str__(self) -> str:
        return f"pool {self.pool_id}"


class PolicyVersion(models.Model):
    """Which policy version a pool has. Triggers raise it on every change, by any route."""

    pool_id = models.BigIntegerField(primary_key=True)
    version = models.BigIntegerField()
    changed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"version {self.version} of pool {self.pool_id}"


class PolicyRevision(models.Model):
    """The policy as the rule read it at one version, so that old decisions can be re-run."""

    pool_id = models.BigIntegerField()
    version = models.BigIntegerField()
    terms = models.JSONField()
    changed_at = models.DateTimeField()
    read_at = models.DateTimeField()
    """The time of the first batch decided by it."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pool_id", "version"], name="budget_one_revision"),
        ]

    def __str__(self) -> str:
        return f"version {self.version} of pool {self.pool_id}"


class PoolState(models.Model):
    """One batch's outcome: the pool's balances after it. Appended, never updated."""

    pk = models.CompositePrimaryKey("pool_id", "seq")
    pool_id = models.BigIntegerField()
    seq = models.BigIntegerField()
    at = models.DateTimeField()
    state = models.BinaryField()
    kept = models.BooleanField(default=False)
    """The first of its minute that changed levels, kept as long as calls are."""

    def __str__(self) -> str:
        return f"batch {self.seq} of pool {self.pool_id}"
