"""What providers said of their limits, and what of it changed what is left of a pool.

Plain values instead of foreign keys, as with calls.
"""

from django.db import models


class Observation(models.Model):
    """Something a provider said that changed what is left. Only the ledger writes it."""

    class Refusal(models.TextChoices):
        """Whether the provider refused a call for all."""

        NONE = "", "none"
        BUSY = "busy", "busy"
        MONEY = "money", "spend cap reached"

    id = models.UUIDField(primary_key=True, editable=False)
    pool_id = models.BigIntegerField()
    at = models.DateTimeField()
    """When the ledger took it in."""
    seq = models.BigIntegerField()
    position = models.IntegerField()
    key_prefix = models.TextField(default="")
    """Prefix of the API key that told it; empty for code in the service's own processes."""
    strictest = models.TextField(db_default="")
    """Slug of the strictest class of a key that is bound to classes: it is believed no further."""
    refusal = models.TextField(choices=Refusal, default="")
    wait_seconds = models.FloatField(null=True)
    """How long the provider asked to stay away."""
    said_at = models.DateTimeField()
    """When the provider said it, by the ledger's clock."""
    readings = models.JSONField()
    """What was compared: `budget.rule.observe.Reading`s."""
    tolerance = models.FloatField()
    leaked = models.JSONField()
    """By unit: what was missing at the provider and never came through us."""
    backoff = models.JSONField()
    """By class that was put off, or for longer: until when, in microseconds since the epoch."""

    class Meta:
        indexes = [
            models.Index(fields=["pool_id", "at"], name="budget_observations_of_pool"),
            models.Index(fields=["pool_id", "seq"], name="budget_observations_in_order"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S}"


class ProviderLimit(models.Model):
    """One of the provider's limits, as its headers last told it; written once a second at most."""

    pool_id = models.BigIntegerField()
    unit = models.TextField()
    amount = models.BigIntegerField(null=True)
    remaining = models.BigIntegerField(null=True)
    per_seconds = models.IntegerField()
    """The period it is an amount of: a minute or a day."""
    reset_seconds = models.FloatField(null=True)
    """From then until it is whole again."""
    seen_at = models.DateTimeField()
    key_prefix = models.TextField(default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pool_id", "unit"], name="budget_one_provider_limit"),
        ]

    def __str__(self) -> str:
        return f"{self.unit} of pool {self.pool_id}"
