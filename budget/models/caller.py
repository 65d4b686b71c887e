"""Processes that call, and what they decided while the service was away.

Plain values instead of foreign keys, as with calls: what was decided outlives its policy.
"""

from django.db import models

from budget.models.choices import Unavailable


class CallerProcess(models.Model):
    """A process that calls a pool, as of when it was last heard of."""

    pool_id = models.BigIntegerField()
    process = models.UUIDField()
    """What the process calls itself by; a forked child is another."""
    name = models.TextField(default="")
    """What people call it by, such as host and process number."""
    key_prefix = models.TextField(default="")
    """Prefix of its API key; empty for one that needs none."""
    seen_at = models.DateTimeField()

    class Meta:
        verbose_name = "caller process"
        verbose_name_plural = "caller processes"
        constraints = [
            models.UniqueConstraint(fields=["pool_id", "process"], name="budget_one_process"),
        ]
        indexes = [models.Index(fields=["pool_id", "seen_at"], name="budget_processes_heard")]

    def __str__(self) -> str:
        return self.name or str(self.process)


class Away(models.Model):
    """Calls of one class that a process decided on by itself, by one choice."""

    pool_id = models.BigIntegerField()
    workload_class = models.TextField()
    """Slug of the class; empty for untagged calls."""
    choice = models.TextField(choices=Unavailable)
    admitted = models.BigIntegerField()
    shed = models.BigIntegerField()
    input_tokens = models.BigIntegerField()
    """Of the admitted calls, as their caller knows it."""
    output_tokens = models.BigIntegerField()

    class Meta:
        abstract = True


class AwayReport(Away):
    """What one process decided in one outage, counted once however often it is sent."""

    report = models.UUIDField(unique=True)
    key_prefix = models.TextField(default="")
    first_at = models.DateTimeField()
    """When the first of these calls was decided on."""
    last_at = models.DateTimeField()
    received_at = models.DateTimeField()
    estimated_input_tokens = models.BigIntegerField(default=0)
    estimated_output_tokens = models.BigIntegerField(default=0)
    """Of the admitted calls: what a provider may have counted that counts by estimates."""
    at = models.DateTimeField(null=True)
    """When the ledger took it in; until then it has no place in the ledger's order, either."""
    seq = models.BigIntegerField(null=True)
    position = models.IntegerField(null=True)

    class Meta:
        verbose_name = "away report"
        indexes = [
            models.Index(fields=["pool_id", "seq"], name="budget_away_in_order"),
            models.Index(fields=["pool_id", "last_at"], name="budget_away_of_pool"),
            models.Index(fields=["received_at"], name="budget_away_received"),
        ]

    def __str__(self) -> str:
        return f"{self.workload_class or 'untagged'} {self.first_at:%Y-%m-%d %H:%M}"


class AwayTotal(Away):
    """All reports on a class, added up as they come; it never falls.

    A class that the policy didn't know as its report came is counted as untagged.
    """

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pool_id", "workload_class", "choice"], name="budget_one_away_total"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.workload_class or 'untagged'} {self.choice}"
