"""A provider allowance and its ceilings."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from budget.rule.terms import LimitTerms

MAX_AMOUNT = 1_000_000_000


class Pool(models.Model):
    """One provider allowance that calls draw on: an account and a model group."""

    class Mode(models.TextChoices):
        ENFORCE = "enforce", "enforce: shed what doesn't fit"
        OBSERVE = "observe", "observe: admit all, record what would be shed"

    class Provider(models.TextChoices):
        ANTHROPIC = "anthropic", "Anthropic"
        AZURE = "azure", "Azure OpenAI"
        BEDROCK = "bedrock", "Amazon Bedrock"
        GEMINI = "gemini", "Google Gemini"
        OPENAI = "openai", "OpenAI"

    class Strategy(models.TextChoices):
        STATIC = "static", "static: each reservation's own share"

    slug = models.SlugField(
        unique=True, help_text="How callers name the pool; fixed once created. Example: claims."
    )
    provider = models.CharField(
        max_length=20,
        choices=Provider,
        help_text="Whose account it is; decides which tokens count. Example: Anthropic.",
    )
    mode = models.CharField(
        max_length=10,
        choices=Mode,
        default=Mode.ENFORCE,
        help_text="Try new floors in observe mode first. Example: observe.",
    )
    paused = models.BooleanField(
        default=False, help_text="Sheds every call while on. Example: on, during a provider outage."
    )
    untagged_class = models.ForeignKey(
        "budget.WorkloadClass",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Class that calls without a tag fall into; none sheds them. Example: nightly.",
    )
    interactive_strategy = models.CharField(
        max_length=20,
        choices=Strategy,
        default=Strategy.STATIC,
        help_text="How floors follow demand in the interactive tier. Example: static.",
    )
    near_line_strategy = models.CharField(
        max_length=20,
        choices=Strategy,
        default=Strategy.STATIC,
        help_text="How floors follow demand in the near-line tier. Example: static.",
    )
    bulk_strategy = models.CharField(
        max_length=20,
        choices=Strategy,
        default=Strategy.STATIC,
        help_text="How floors follow demand in the bulk tier. Example: static.",
    )

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


class Limit(models.Model):
    """One of a pool's ceilings."""

    class Unit(models.TextChoices):
        REQUESTS = "requests", "requests"
        INPUT_TOKENS = "input_tokens", "input tokens"
        OUTPUT_TOKENS = "output_tokens", "output tokens"
        TOTAL_TOKENS = "total_tokens", "total tokens"

    class Algorithm(models.TextChoices):
        TOKEN_BUCKET = "token_bucket", "token bucket"
        SLIDING_WINDOW = "sliding_window", "sliding window"
        GAUGE = "gauge", "gauge"

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="limits")
    unit = models.CharField(
        max_length=20, choices=Unit, help_text="What is counted. Example: total tokens."
    )
    algorithm = models.CharField(
        max_length=20,
        choices=Algorithm,
        help_text="A bucket refills steadily, a window forgets what is older than its period, "
        "a gauge counts what is under way. Example: token bucket.",
    )
    amount = models.BigIntegerField(
        validators=[MinValueValidator(1), MaxValueValidator(MAX_AMOUNT)],
        help_text="Units allowed in a period; for a gauge, at once. Example: 400000 tokens.",
    )
    per_seconds = models.PositiveIntegerField(
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(86_400)],
        help_text="Length of the period in seconds; not used by a gauge. Example: 60 s.",
    )
    burst_percent = models.DecimalField(
        max_digits=6,
        decimal_places=2,
        default=25,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text="How much a bucket holds when full, in % of the amount. Example: 25 %.",
    )

    class Meta:
        ordering = ["unit", "algorithm"]
        constraints = [
            models.UniqueConstraint(
                fields=["pool", "unit", "algorithm"], name="budget_one_limit_of_a_kind"
            ),
            models.CheckConstraint(
                condition=Q(amount__gte=1, amount__lte=MAX_AMOUNT), name="budget_limit_amount"
            ),
            models.CheckConstraint(
                condition=Q(per_seconds__gte=1, per_seconds__lte=86_400),
                name="budget_limit_per_seconds",
            ),
            models.CheckConstraint(
                condition=Q(burst_percent__gte=1, burst_percent__lte=1000),
                name="budget_limit_burst_percent",
            ),
        ]

    def __str__(self) -> str:
        return self.terms.name

    @property
    def terms(self) -> LimitTerms:
        """The limit as the rule reads it."""
        return LimitTerms(
            unit=self.unit,
            algorithm=self.algorithm,
            amount=self.amount,
            per_seconds=self.per_seconds,
            burst_percent=float(self.burst_percent),
        )
