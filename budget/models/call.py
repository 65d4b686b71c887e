"""Every decision, with what became of the call."""

import msgspec
from django.db import models
from django.db.models import Q

from budget.rule.decision import Charge, Standing


class Call(models.Model):
    """One admission decision and, if admitted, its lease and settlement.

    Only the ledger writes it. `pool_id` and `workload_class` are plain values, not
    foreign keys: the table is hot, and a call outlives the policy it ran under.
    """

    class State(models.TextChoices):
        OPEN = "open", "open"
        SETTLED = "settled", "settled"
        LEASE_EXPIRED = "lease_expired", "lease expired"
        SHED = "shed", "shed"

    id = models.UUIDField(primary_key=True, editable=False)
    pool_id = models.BigIntegerField()
    workload_class = models.TextField()
    """Slug of the class; empty for an untagged call that was shed."""
    untagged = models.BooleanField(default=False)
    key_prefix = models.TextField(default="")
    """Prefix of the API key; empty for calls from inside the process."""
    idempotency_key = models.TextField(null=True)  # noqa: DJ001  NULL is free of the constraint
    fingerprint = models.TextField(default="")
    """Digest of the request, to tell a repetition from a reused idempotency key."""

    input_tokens = models.BigIntegerField()
    output_tokens = models.BigIntegerField()
    source = models.TextField(default="")
    tags = models.JSONField(default=dict)
    offered_at = models.DateTimeField()
    deadline = models.DateTimeField()

    seq = models.BigIntegerField()
    """The batch that decided it; with `position` the order of all decisions of the pool."""
    position = models.IntegerField()
    policy_version = models.BigIntegerField()
    state = models.TextField(choices=State)
    reason = models.TextField(default="")
    """Why it was shed; in observe mode why it would have been."""
    limit = models.TextField(default="")
    retry_after_ms = models.BigIntegerField(null=True)
    detail = models.TextField(default="")
    """The refusal in words."""
    retried_as = models.UUIDField(null=True)
    """The id that all decisions on a call share, once it was offered again. Only the newest
    decision is stored under it, and it has this set if it was told more than once."""
    arithmetic = models.TextField(default="[]")
    """`standings` as JSON text; not jsonb, which costs the hot path half of its insert."""
    charges = models.TextField(default="[]")
    """`charged` as JSON text."""

    lease_expires = models.DateTimeField(null=True)
    lapsed_at = models.DateTimeField(null=True)
    """When a batch found the lease expired; a later settlement leaves it standing."""
    outcome = models.TextField(default="")
    used_input_tokens = models.BigIntegerField(null=True)
    used_output_tokens = models.BigIntegerField(null=True)
    used_cached_input_tokens = models.BigIntegerField(null=True)
    refunded = models.JSONField(default=dict)
    overrun = models.JSONField(default=dict)
    settled_at = models.DateTimeField(null=True)
    settled_seq = models.BigIntegerField(null=True)
    settled_position = models.IntegerField(null=True)

    job_id = models.UUIDField(null=True)
    """The job it is an attempt of, or whose enqueueing was refused."""
    of_batch = models.BooleanField(default=False)
    """Whether it draws on the limits of the batch endpoint instead of the pool's own."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pool_id", "key_prefix", "idempotency_key"],
                condition=Q(idempotency_key__isnull=False),
                name="budget_one_call_per_key",
            ),
        ]
        indexes = [
            models.Index(
                fields=["pool_id", "lease_expires"],
                condition=Q(state="open"),
                name="budget_open_leases",
            ),
            models.Index(fields=["pool_id", "seq", "position"], name="budget_call_order"),
            models.Index(
                fields=["pool_id", "offered_at"],
                include=["workload_class", "reason", "state", "source", "key_prefix"],
                condition=~Q(reason=""),
                name="budget_sheds",
            ),
            models.Index(
                fields=["pool_id", "offered_at"],
                include=[
                    "source",
                    "key_prefix",
                    "workload_class",
                    "state",
                    "input_tokens",
                    "output_tokens",
                ],
                condition=Q(untagged=True),
                name="budget_untagged",
            ),
            models.Index(
                fields=["job_id"], condition=Q(job_id__isnull=False), name="budget_call_of_job"
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def standings(self) -> list[Standing]:
        """Per touched limit the numbers of the decision."""
        return msgspec.json.decode(self.arithmetic, type=list[Standing])

    @property
    def charged(self) -> list[Charge]:
        """What each limit was charged."""
        return msgspec.json.decode(self.charges, type=list[Charge])


class UntaggedCaller(Call):
    """Stands for the places that untagged calls come from in the admin; it has no rows."""

    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = "untagged caller"
