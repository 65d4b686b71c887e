"""A claim, what happened to it, and what its adjusters asked the assistant about it."""

from django.db import models
from django.urls import reverse
from django.utils import timezone

# The sequence begins anew after 999999.
NUMBER = (
    "'C-' || to_char(now(), 'YYYY-') || lpad(nextval('claims_demo_claim_number')::text, 6, '0')"
)


class Claim(models.Model):
    """Somebody's loss, on its way to being settled."""

    class Kind(models.TextChoices):
        HAIL = "hail", "Hail"
        THEFT = "theft", "Theft"
        COLLISION = "collision", "Collision"
        WATER = "water", "Water"
        FIRE = "fire", "Fire"
        GLASS = "glass", "Glass"

    class Priority(models.IntegerChoices):
        URGENT = 1, "Urgent"
        NORMAL = 2, "Normal"
        LOW = 3, "Low"

    class Status(models.TextChoices):
        NEW = "new", "New"
        ASSESSING = "assessing", "Assessing"
        WAITING = "waiting", "Waiting for papers"
        SETTLED = "settled", "Settled"
        DECLINED = "declined", "Declined"

    class Category(models.TextChoices):
        ROUTINE = "routine", "Routine"
        INSPECTION = "inspection", "Needs an inspection"
        PAPERS = "papers", "Papers missing"
        RECOURSE = "recourse", "Recourse possible"
        LARGE_LOSS = "large_loss", "Large loss"
        DOUBTFUL = "doubtful", "Doubtful"

    number = models.CharField(
        max_length=20,
        unique=True,
        editable=False,
        db_default=models.Func(template=NUMBER, output_field=models.CharField()),
    )
    """Given by the database, from a sequence: `C-2026-004711`."""
    claimant = models.CharField(max_length=100)
    place = models.CharField(max_length=100)
    insured = models.CharField(max_length=100)
    """What the loss is to: a car, a flat, a shop."""
    amount = models.PositiveIntegerField()
    """What the claimant asks for, in euros."""
    kind = models.CharField(max_length=10, choices=Kind)
    priority = models.PositiveSmallIntegerField(choices=Priority, default=Priority.NORMAL)
    status = models.CharField(max_length=10, choices=Status, default=Status.NEW)
    description = models.TextField()
    opened_at = models.DateTimeField(default=timezone.now)
    changed_at = models.DateTimeField(default=timezone.now)
    """When its newest event came in."""
    score = models.PositiveSmallIntegerField(null=True, blank=True)
    """How much it needs a person's attention, 0 to 100; set by re-scoring."""
    scored_at = models.DateTimeField(null=True, blank=True)
    """The score is of the claim as it was then."""
    category = models.CharField(max_length=20, choices=Category, blank=True)
    """Set by the nightly classification."""
    classified_at = models.DateTimeField(null=True, blank=True)
    """The category is of the claim as it was then."""
    classification_job = models.UUIDField(null=True, blank=True, editable=False)
    """The job that classifies it now."""

    class Meta:
        ordering = ["priority", "-changed_at"]
        permissions = [("classify_claims", "Can run the nightly classification")]
        indexes = [
            models.Index(fields=["priority", "-changed_at"], name="claims_demo_by_priority"),
            models.Index(
                fields=["classification_job"],
                condition=models.Q(classification_job__isnull=False),
                name="claims_demo_in_classification",
            ),
        ]

    def __str__(self) -> str:
        return self.number

    def get_absolute_url(self) -> str:
        """Its page."""
        return reverse("claim", args=[self.number])

    @property
    def is_score_old(self) -> bool:
        """Whether something happened since it was scored."""
        return self.scored_at is not None and self.scored_at < self.changed_at

    @property
    def is_category_old(self) -> bool:
        """Whether something happened since it was classified."""
        return self.classified_at is not None and self.classified_at < self.changed_at


LONGEST_QUESTION = 500
"""Characters."""
CLOSED = (Claim.Status.SETTLED, Claim.Status.DECLINED)
"""Nothing more is expected to happen to these."""


class ClaimEvent(models.Model):
    """Something that happened to a claim."""

    class Kind(models.TextChoices):
        REPORTED = "reported", "Reported"
        CALL = "call", "Call"
        DOCUMENT = "document", "Document"
        ESTIMATE = "estimate", "Estimate"
        INSPECTION = "inspection", "Inspection"
        DECISION = "decision", "Decision"

    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=10, choices=Kind)
    text = models.TextField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["at", "pk"]

    def __str__(self) -> str:
        return f"{self.claim} {self.kind}"


class Question(models.Model):
    """What an adjuster asked the assistant about a claim, and was answered."""

    claim = models.ForeignKey(Claim, on_delete=models.CASCADE, related_name="questions")
    asked_by = models.CharField(max_length=150)
    """A user's name."""
    asked_at = models.DateTimeField(default=timezone.now)
    text = models.CharField(max_length=LONGEST_QUESTION)
    answer = models.TextField()
    seconds = models.FloatField()
    """How long the adjuster waited."""
    input_tokens = models.PositiveIntegerField()
    output_tokens = models.PositiveIntegerField()

    class Meta:
        ordering = ["asked_at", "pk"]

    def __str__(self) -> str:
        return self.text
