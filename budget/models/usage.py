"""What each class did: in each minute, in each hour, and in all."""

from django.db import models


class Usage(models.Model):
    """What one class did on one pool in some time. Only the ledger writes it.

    Calls count in the minute of their decision, used, refunded and overrun tokens in
    the minute of their settlement. Tokens are input plus output.
    """

    pool_id = models.BigIntegerField()
    workload_class = models.TextField()
    """Slug of the class; empty for untagged calls that were shed."""
    offered = models.BigIntegerField(default=0)
    untagged = models.BigIntegerField(db_default=0)
    """How many of them named no class."""
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
    corrected_tokens = models.BigIntegerField(db_default=0)
    """Taken back from `used_tokens`: leases that had lapsed and turned out to have used less."""
    minutes = models.IntegerField(db_default=1)
    """How many recorded minutes it stands for."""
    leading_limit = models.TextField(db_default="")
    """Name of the pool's leading limit, in whose unit the amounts below are. If it changed
    within the time they are what came since."""
    charged = models.BigIntegerField(default=0)
    """Units taken from the leading limit; a refund counts against its own minute."""
    floor_tokens = models.BigIntegerField(default=0)
    """Charged out of the class's own floor."""
    borrowed_tokens = models.BigIntegerField(default=0)
    """Charged out of looser classes' lendable floors."""
    lent_tokens = models.BigIntegerField(default=0)
    """Charged by stricter classes out of this class's floor."""
    allowance = models.BigIntegerField(default=0)
    """What the leading limit allows the whole pool in that time."""
    queue_depth = models.BigIntegerField(null=True)
    """Jobs that wait at its end; of an hour, the most at the end of a minute."""
    oldest_wait_seconds = models.FloatField(null=True)
    """How long the oldest of them has waited."""

    class Meta:
        abstract = True


class UsageMinute(Usage):
    """A closed minute, inserted once.

    Every class has one for each minute in which somebody kept the ledger, also if it made
    no call. A minute without any is one of which nothing is known.
    """

    minute = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pool_id", "workload_class", "minute"], name="budget_one_usage_minute"
            ),
        ]
        indexes = [
            models.Index(fields=["minute"], name="budget_usage_by_minute"),
            models.Index(fields=["pool_id", "minute"], name="budget_usage_of_pool"),
        ]

    def __str__(self) -> str:
        return f"{self.workload_class} {self.minute:%Y-%m-%d %H:%M}"


class UsageHour(Usage):
    """The closed minutes of an hour, added up as they close: what long ranges are read from."""

    hour = models.DateTimeField()
    minute = models.DateTimeField()
    """The last minute in it."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pool_id", "hour", "workload_class"], name="budget_one_usage_hour"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.workload_class} {self.hour:%Y-%m-%d %H}"


class UsageTotal(Usage):
    """All closed minutes of a class on a pool, added up; it never falls."""

    minute = models.DateTimeField()
    """The last minute in it."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pool_id", "workload_class"], name="budget_one_usage_total"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.workload_class} until {self.minute:%Y-%m-%d %H:%M}"
