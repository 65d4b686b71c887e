"""Workload classes and their terms on a pool."""

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from budget.models.pool import Pool


class WorkloadClass(models.Model):
    """The tag on every call: which deadline its answer has."""

    class Tier(models.TextChoices):
        INTERACTIVE = "interactive", "interactive: somebody waits"
        NEAR_LINE = "near_line", "near-line: minutes"
        BULK = "bulk", "bulk: hours"

    class Unavailable(models.TextChoices):
        ADMIT = "admit", "admit"
        SHED = "shed", "shed"
        LOCAL = "local", "local: a share kept in the caller's process"

    slug = models.SlugField(
        unique=True, help_text="How calls name the class; fixed once created. Example: adjuster."
    )
    tier = models.CharField(
        max_length=20, choices=Tier, help_text="Looser tiers are shed first. Example: interactive."
    )
    deadline_seconds = models.PositiveIntegerField(
        validators=[MinValueValidator(1), MaxValueValidator(604_800)],
        help_text="After how long an answer is worthless, in seconds. Example: 5 s.",
    )
    max_call_seconds = models.PositiveIntegerField(
        default=120,
        validators=[MinValueValidator(1), MaxValueValidator(86_400)],
        help_text="When a call that never reported back counts as over, in seconds. Example: 120 s.",
    )
    max_call_tokens = models.PositiveIntegerField(
        default=16_000,
        validators=[MinValueValidator(1)],
        help_text="The largest single call, input and output together. Example: 16000 tokens.",
    )
    when_unavailable = models.CharField(
        max_length=10,
        choices=Unavailable,
        blank=True,
        help_text="What callers do when this service is away; empty: local for interactive, "
        "else shed. Example: local.",
    )
    queue_limit = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Jobs that may wait; empty: no bound. Example: 1000 jobs.",
    )
    queue_tokens = models.BigIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Tokens that may wait; empty: no bound. Example: 2000000 tokens.",
    )
    max_attempts = models.PositiveSmallIntegerField(
        default=3,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text="How often a job is tried. Example: 3.",
    )
    paused = models.BooleanField(
        default=False, help_text="Sheds every call of the class while on. Example: on."
    )

    class Meta:
        ordering = ["slug"]
        verbose_name_plural = "workload classes"
        constraints = [
            models.CheckConstraint(
                condition=Q(deadline_seconds__gte=1), name="budget_class_deadline_seconds"
            ),
            models.CheckConstraint(
                condition=Q(max_call_seconds__gte=1), name="budget_class_max_call_seconds"
            ),
            models.CheckConstraint(
                condition=Q(max_call_tokens__gte=1), name="budget_class_max_call_tokens"
            ),
            models.CheckConstraint(
                condition=Q(max_attempts__gte=1), name="budget_class_max_attempts"
            ),
        ]

    def __str__(self) -> str:
        return self.slug


def _percent(help_text: str, **options: object) -> models.DecimalField:
    return models.DecimalField(
        max_digits=5,
        decimal_places=2,
        validators=[MinValueValidator(0), MaxValueValidator(100)],
        help_text=help_text,
        **options,
    )


class Reservation(models.Model):
    """A class's terms on a pool."""

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="reservations")
    workload_class = models.ForeignKey(
        WorkloadClass, on_delete=models.CASCADE, related_name="reservations"
    )
    share_percent = _percent(
        "Floor: what looser classes cannot consume, in % of each limit's capacity. Example: 50 %.",
        default=0,
    )
    lendable_percent = _percent(
        "How much of an unspent floor stricter classes may take; empty: 0 / 70 / 100 % by tier. "
        "Example: 70 %.",
        null=True,
        blank=True,
    )
    headroom_percent = _percent(
        "How much of the unreserved part the class leaves free while stricter classes are at "
        "work; empty: 0 / 5 / 10 % by tier. Example: 5 %.",
        null=True,
        blank=True,
    )
    ceiling_percent = _percent(
        "The most the class may take of each limit. Example: 100 %.", default=100
    )
    weight = models.DecimalField(
        max_digits=7,
        decimal_places=2,
        default=1,
        validators=[MinValueValidator("0.01")],
        help_text="Relative part among classes of one tier. Example: 2.",
    )
    yields_above_percent = _percent(
        "Beyond its floor the class is shed once this much of the interactive floors is spent; "
        "empty: never. Example: 80 %.",
        null=True,
        blank=True,
    )
    except_limits = ArrayField(
        models.CharField(max_length=50),
        default=list,
        blank=True,
        help_text="Limits on which the floor is switched off, as unit/algorithm. "
        "Example: requests/gauge.",
    )

    class Meta:
        ordering = ["pool", "workload_class"]
        constraints = [
            models.UniqueConstraint(
                fields=["pool", "workload_class"], name="budget_one_reservation_per_class"
            ),
            models.CheckConstraint(
                condition=Q(share_percent__gte=0, share_percent__lte=100),
                name="budget_reservation_share_percent",
            ),
            models.CheckConstraint(
                condition=Q(lendable_percent__gte=0, lendable_percent__lte=100),
                name="budget_reservation_lendable_percent",
            ),
            models.CheckConstraint(
                condition=Q(headroom_percent__gte=0, headroom_percent__lte=100),
                name="budget_reservation_headroom_percent",
            ),
            models.CheckConstraint(
                condition=Q(ceiling_percent__gt=0, ceiling_percent__lte=100),
                name="budget_reservation_ceiling_percent",
            ),
            models.CheckConstraint(
                condition=Q(yields_above_percent__gt=0, yields_above_percent__lte=100),
                name="budget_reservation_yields_above_percent",
            ),
            models.CheckConstraint(condition=Q(weight__gt=0), name="budget_reservation_weight"),
        ]

    def __str__(self) -> str:
        return f"{self.workload_class} on {self.pool}"
