"""A provider allowance and its ceilings."""

from typing import cast

from django.db import models

from budget.models.address import provider_address
from budget.models.choices import ALGORITHM_CHOICES, UNIT_CHOICES, Mode, Provider, Strategy
from budget.models.history import remember
from budget.models.ranges import Checked, between, in_range, one_of, slug_only
from budget.models.triggers import (
    RecordTruncate,
    fixed_slug,
    pool_lifecycle,
    raise_version,
)
from budget.rule import terms as rule

MAX_AMOUNT = 1_000_000_000
MAX_BATCH_REQUESTS = 100_000
MAX_BATCH_BYTES = 256_000_000
DAY = 86_400
WEEK_HOURS = 168


@remember()
class Pool(Checked):
    """One provider allowance that calls draw on: an account and a model group."""

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
    base_url = models.CharField(
        "base URL",
        max_length=200,
        blank=True,
        validators=[provider_address],
        help_text="Where jobs reach the provider and its API key is sent; empty: the official "
        "SDK's own address. OpenAI's ends in /v1; Anthropic's doesn't, its SDK adds that. "
        "Example: https://llm-gateway.internal/v1.",
    )
    batch = models.BooleanField(
        "batch endpoint",
        default=False,
        help_text="Bulk jobs that can wait for it go to the provider's batch endpoint, which has "
        "limits of its own; OpenAI and Anthropic only. Example: on.",
    )
    batch_max_requests = models.PositiveIntegerField(
        "requests a batch",
        default=50_000,
        validators=between(1, MAX_BATCH_REQUESTS),
        help_text="The most requests collected into one batch; OpenAI takes 50,000, Anthropic "
        "100,000. Example: 50000 requests.",
    )
    batch_max_bytes = models.PositiveIntegerField(
        "bytes a batch",
        default=100_000_000,
        validators=between(1024, MAX_BATCH_BYTES),
        help_text="The largest batch, in bytes; OpenAI takes 200 MB, Anthropic 256 MB. "
        "Example: 100000000 bytes.",
    )
    batch_collect_seconds = models.PositiveIntegerField(
        "collect for (s)",
        default=300,
        validators=between(0, DAY),
        help_text="How long a batch is collected before it is sent if it isn't full, in seconds. "
        "Example: 300 s.",
    )
    batch_window_hours = models.PositiveIntegerField(
        "batch window (h)",
        default=24,
        validators=between(1, WEEK_HOURS),
        help_text="How long the provider may take, in hours: 24 with OpenAI and Anthropic. Jobs "
        "due sooner are called one by one; with shorter deadlines, all are. Example: 24 h.",
    )

    class Meta:
        ordering = ["slug"]
        permissions = [("pause_pool", "Can pause and resume pool")]
        constraints = [
            slug_only("pool"),
            one_of("pool", "provider", Provider.values),
            one_of("pool", "mode", Mode.values),
            one_of("pool", "interactive_strategy", Strategy.values),
            one_of("pool", "near_line_strategy", Strategy.values),
            one_of("pool", "bulk_strategy", Strategy.values),
            in_range("pool", "batch_max_requests", 1, MAX_BATCH_REQUESTS),
            in_range("pool", "batch_max_bytes", 1024, MAX_BATCH_BYTES),
            in_range("pool", "batch_collect_seconds", 0, DAY),
            in_range("pool", "batch_window_hours", 1, WEEK_HOURS),
        ]
        triggers = [
            *raise_version("ARRAY[NEW.id]"),
            *pool_lifecycle(),
            fixed_slug(),
            RecordTruncate(),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def strategies(self) -> dict[rule.Tier, str]:
        """Strategy by tier, as the rule reads it."""
        return {
            "interactive": self.interactive_strategy,
            "near_line": self.near_line_strategy,
            "bulk": self.bulk_strategy,
        }


class PolicyHistory(Pool):
    """Stands for the history of all policy tables in the admin; it has no rows of its own."""

    class Meta:
        proxy = True
        default_permissions = ("view",)
        verbose_name = "policy history"
        verbose_name_plural = "policy history"


@remember()
class Limit(Checked):
    """One of a pool's ceilings."""

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="limits")
    unit = models.CharField(
        max_length=20, choices=UNIT_CHOICES, help_text="What is counted. Example: total tokens."
    )
    algorithm = models.CharField(
        max_length=20,
        choices=ALGORITHM_CHOICES,
        help_text="A bucket refills steadily, a window forgets what is older than its period, "
        "a gauge counts what is under way. Example: token bucket.",
    )
    amount = models.BigIntegerField(
        validators=between(1, MAX_AMOUNT),
        help_text="Units allowed in a period; for a gauge, at once. Example: 400000 tokens.",
    )
    per_seconds = models.PositiveIntegerField(
        "period (s)",
        default=60,
        validators=between(1, 86_400),
        help_text="Length of the period in seconds; not used by a gauge. Example: 60 s.",
    )
    burst_percent = models.DecimalField(
        "burst %",
        max_digits=6,
        decimal_places=2,
        default=25,
        validators=between(1, 1000),
        help_text="What a full bucket holds, in % of the amount; buckets only. Example: 25 %.",
    )
    of_batch = models.BooleanField(
        "batch endpoint",
        default=False,
        help_text="Limits what is sent to the batch endpoint instead of the calls. Example: on.",
    )

    class Meta:
        ordering = ["of_batch", "unit", "algorithm"]
        constraints = [
            models.UniqueConstraint(
                fields=["pool", "of_batch", "unit", "algorithm"], name="budget_one_limit_of_a_kind"
            ),
            one_of("limit", "unit", rule.UNITS),
            one_of("limit", "algorithm", rule.ALGORITHMS),
            in_range("limit", "amount", 1, MAX_AMOUNT),
            in_range("limit", "per_seconds", 1, 86_400),
            in_range("limit", "burst_percent", 1, 1000),
        ]
        triggers = [
            *raise_version("ARRAY[OLD.pool_id, NEW.pool_id]"),
            RecordTruncate(),
        ]

    def __str__(self) -> str:
        return f"batch {self.terms.name}" if self.of_batch else self.terms.name

    @property
    def terms(self) -> rule.LimitTerms:
        """The limit as the rule reads it."""
        return rule.LimitTerms(
            unit=cast(rule.Unit, self.unit),
            algorithm=cast(rule.Algorithm, self.algorithm),
            amount=self.amount,
            per_seconds=self.per_seconds,
            burst_percent=float(self.burst_percent),
        )
