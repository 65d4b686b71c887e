"""The tables only the ledger writes. None has a foreign key: they are hot."""

from django.db import models


class PoolLock(models.Model):
    """The row whose lock serialises all writers of a pool. Nothing else writes or references it."""

    pool_id = models.BigIntegerField(primary_key=True)


class PolicyVersion(models.Model):
    """Which policy version a pool has. Triggers raise it on every change, by any route."""

    pool_id = models.BigIntegerField(primary_key=True)
    version = models.BigIntegerField()
    changed_at = models.DateTimeField()


class PolicyRevision(models.Model):
    """The policy as the rule read it at one version, so that old decisions can be re-run."""

    pool_id = models.BigIntegerField()
    version = models.BigIntegerField()
    terms = models.JSONField()
    read_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pool_id", "version"], name="budget_one_revision"),
        ]


class PoolState(models.Model):
    """One batch's outcome: the pool's balances after it. Appended, never updated."""

    pk = models.CompositePrimaryKey("pool_id", "seq")
    pool_id = models.BigIntegerField()
    seq = models.BigIntegerField()
    at = models.DateTimeField()
    state = models.BinaryField()
    kept = models.BooleanField(default=False)
    """The first state of its minute, kept as long as calls are."""
