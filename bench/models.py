"""Tables of the naive ways."""

from django.db import models


class Balance(models.Model):
    """All balances of a pool in one row, which every admission locks."""

    pool = models.TextField(unique=True)
    updated_at = models.DateTimeField()
    tokens = models.FloatField()
    requests = models.FloatField()
    held = models.IntegerField(default=0)
    floor_tokens = models.FloatField()
    """What is left of the strictest class's floor."""

    def __str__(self) -> str:
        return self.pool


class Decision(models.Model):
    """One decision, as the naive ways write it down."""

    id = models.UUIDField(primary_key=True)
    pool = models.TextField()
    workload_class = models.TextField()
    decided_at = models.DateTimeField()
    admitted = models.BooleanField()
    tokens = models.IntegerField()
    arithmetic = models.JSONField()

    def __str__(self) -> str:
        return str(self.id)
