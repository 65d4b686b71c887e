"""Near-line and bulk work that waits for its turn."""

from django.db import models
from django.db.models import Q

WAITING = Q(state="queued", not_before__isnull=True)


class Job(models.Model):
    """Work in a bounded queue, with a stamped deadline.

    Only the ledger writes it. Hot, so without foreign keys, like `Call`; each attempt is a
    call of its own, found by `Call.job_id`.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        SUCCEEDED = "succeeded", "succeeded"
        FAILED = "failed", "failed"
        EXPIRED = "expired", "expired"
        CANCELLED = "cancelled", "cancelled"

    id = models.UUIDField(primary_key=True, editable=False)
    pool_id = models.BigIntegerField()
    workload_class = models.TextField()
    key_prefix = models.TextField(default="")
    """Prefix of the API key; empty for jobs from inside the process."""
    idempotency_key = models.TextField(null=True)  # noqa: DJ001  NULL is free of the constraint
    fingerprint = models.TextField(default="")

    task = models.TextField()
    """Dotted name of what is run."""
    args = models.TextField(default="{}")
    """Its arguments by name, as JSON text."""
    batchable = models.BooleanField(default=False)
    """Whether it is one LLM request that a batch endpoint takes."""
    model = models.TextField(default="")
    """The model that request names; a batch has only one."""
    input_tokens = models.BigIntegerField()
    output_tokens = models.BigIntegerField()
    source = models.TextField(default="")
    tags = models.JSONField(default=dict)

    enqueued_at = models.DateTimeField()
    deadline = models.DateTimeField()
    state = models.TextField(choices=State, default=State.QUEUED)
    not_before = models.DateTimeField(null=True)
    """Until when a queued job rests after an attempt; NULL once it is ready."""
    attempts = models.IntegerField(default=0)
    """Attempts begun that count: not those that never left."""
    call_id = models.UUIDField(null=True)
    """The call of its latest attempt."""
    taking_id = models.UUIDField(null=True)
    """The taking that started its latest attempt."""
    batch_id = models.UUIDField(null=True)
    """The batch it was last sent with."""
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    result = models.TextField(null=True)  # noqa: DJ001  NULL is no result, "null" one
    """What the task returned, as JSON text."""
    error = models.TextField(default="")
    """In words, why it failed or expired, or why its last attempt did."""
    trail = models.JSONField(default=list)
    """What was decided about it and when, oldest first: `at`, `event`, `detail`."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pool_id", "key_prefix", "idempotency_key"],
                condition=Q(idempotency_key__isnull=False),
                name="budget_one_job_per_key",
            ),
        ]
        indexes = [
            models.Index(
                fields=["pool_id", "workload_class", "batchable", "deadline"],
                condition=WAITING,
                name="budget_job_by_deadline",
            ),
            models.Index(
                fields=["pool_id", "workload_class", "batchable", "enqueued_at"],
                condition=WAITING,
                name="budget_job_by_age",
            ),
            models.Index(
                fields=["pool_id", "not_before"],
                condition=Q(state="queued", not_before__isnull=False),
                name="budget_job_resting",
            ),
            models.Index(
                fields=["pool_id", "taking_id"],
                condition=Q(state="running"),
                name="budget_job_running",
            ),
            models.Index(
                fields=["batch_id"],
                condition=Q(batch_id__isnull=False),
                name="budget_job_by_batch",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class JobBatch(models.Model):
    """Jobs of one model that go to the provider's batch endpoint together."""

    class State(models.TextChoices):
        COLLECTING = "collecting", "collecting"
        SUBMITTING = "submitting", "submitting"
        RUNNING = "running", "running at the provider"
        ENDED = "ended", "ended, results to be fetched"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    id = models.UUIDField(primary_key=True, editable=False)
    pool_id = models.BigIntegerField()
    model = models.TextField()
    state = models.TextField(choices=State, default=State.COLLECTING)
    requests = models.IntegerField(default=0)
    size = models.BigIntegerField(default=0)
    """Of the collected arguments, in bytes."""
    provider_id = models.TextField(default="")
    """The provider's name for it, once it has one."""
    input_file = models.TextField(default="")
    """The provider's name for the uploaded requests, where it takes them as a file."""
    created_at = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True)
    """When it was first about to be sent."""
    finished_at = models.DateTimeField(null=True)
    next_look_at = models.DateTimeField()
    """When it is next worth somebody's attention."""
    looks = models.IntegerField(default=0)
    """How often the provider was asked since something changed."""
    held_until = models.DateTimeField(null=True)
    """Until when one worker has it to itself."""
    succeeded = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)
    error = models.TextField(default="")

    class Meta:
        verbose_name_plural = "job batches"
        indexes = [
            models.Index(
                fields=["next_look_at"],
                condition=~Q(state__in=["done", "failed"]),
                name="budget_batch_due",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)
