"""What each class did in each minute."""

from django.db import models


class UsageMinute(models.Model):
    """A closed minute of one class on one pool, inserted once by the ledger.

    Calls count in the minute of their decision, used, refunded and overrun tokens in
    the minute of their settlement. Tokens are input plus output.
    """

    pool_id = models.BigIntegerField()
    workload_class = models.TextField()
    """Slug of the class; empty for untagged calls that were shed."""
    minute = models.DateTimeField()
    offered = models.BigIntegerField(default=0)
    admitted = models.BigIntegerField(default=0)
    shed = models.JSONField(default=dict)
    """Count by reason; in observe mode `would_shed` counts instead."""
    would_shed = models.JSONField(default=dict)
    expired = models.BigIntegerField(default=0)
    lease_expired = models.BigIntegerField(default=0)
    offered_tokens = models.BigIntegerField(default=0)
    estimated_tokens = models.BigIntegerField(default=0)
    used_tokens = models.BigIntegerField(default=0)
    refunded_tokens = models.BigIntegerField(default=0)
    overrun_tokens = models.BigIntegerField(default=0)
    charged = models.BigIntegerField(default=0)
    """Units taken from the pool's leading limit; a refund counts against its own minute."""
    floor_tokens = models.BigIntegerField(default=0)
    """Charged out of the class's own floor, on the pool's leading limit."""
    borrowed_tokens = models.BigIntegerField(default=0)
    """Charged out of looser classes' lendable floors."""
    lent_tokens = models.BigIntegerField(default=0)
    """Charged by stricter classes out of this class's floor."""
    allowance = models.BigIntegerField(default=0)
    """What the leading limit allows the whole pool in a minute."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pool_id", "workload_class", "minute"], name="budget_one_usage_minute"
            ),
        ]
        indexes = [models.Index(fields=["minute"], name="budget_usage_by_minute")]

    def __str__(self) -> str:
        return f"{self.workload_class} {self.minute:%Y-%m-%d %H:%M}"
