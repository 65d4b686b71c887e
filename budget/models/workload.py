"""Workload classes and their terms on a pool."""

from decimal import Decimal
from typing import Any, Literal, cast

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Case, Value, When

from budget.models.choices import TIER_CHOICES, Unavailable
from budget.models.history import remember
from budget.models.pool import Pool
from budget.models.ranges import Checked, between, in_range, one_of, slug_only
from budget.models.triggers import (
    ALL_POOLS,
    RecordTruncate,
    fixed_slug,
    raise_version,
    shares_within_pool,
)
from budget.rule.terms import TIERS

WEEK = 604_800
DAY = 86_400
MAX_CALL_TOKENS = 10_000_000
MAX_QUEUE = 1_000_000_000
LEAST_WEIGHT = Decimal("0.01")
LEAST_PERCENT = Decimal("0.01")


def strictest_first(prefix: str = "") -> list[Any]:
    """Ordering of classes, or of rows that refer to one by `prefix`, as the rule orders them."""
    tiers = [
        When(**{f"{prefix}tier": tier}, then=Value(position)) for position, tier in enumerate(TIERS)
    ]
    return [Case(*tiers), f"{prefix}deadline_seconds", f"{prefix}slug"]


not_shed = RegexValidator("^shed$", "`shed` means no class in policy files.", inverse_match=True)


@remember()
class WorkloadClass(Checked):
    """The tag on every call: which deadline its answer has."""

    slug = models.SlugField(
        unique=True,
        validators=[not_shed],
        help_text="How calls name the class; fixed once created. Example: adjuster.",
    )
    tier = models.CharField(
        max_length=20,
        choices=TIER_CHOICES,
        help_text="Looser tiers are shed first. Example: interactive.",
    )
    deadline_seconds = models.PositiveIntegerField(
        "deadline (s)",
        validators=between(1, WEEK),
        help_text="After how long an answer is worthless, in seconds. Example: 5 s.",
    )
    max_call_seconds = models.PositiveIntegerField(
        "longest call (s)",
        default=120,
        validators=between(1, DAY),
        help_text="After how many seconds a call that never reported back is over. Example: 120 s.",
    )
    max_call_tokens = models.PositiveIntegerField(
        "largest call (tokens)",
        default=16_000,
        validators=between(1, MAX_CALL_TOKENS),
        help_text="The largest single call, input and output together. Example: 16000 tokens.",
    )
    when_unavailable = models.CharField(
        max_length=10,
        choices=[("", "tier default"), *Unavailable.choices],
        blank=True,
        help_text="What callers do when this service is away; empty: local for interactive, "
        "else shed. Example: local.",
    )
    queue_limit = models.PositiveIntegerField(
        "queue limit (jobs)",
        null=True,
        blank=True,
        validators=between(1, MAX_QUEUE),
        help_text="Jobs that may wait; empty: no bound. Example: 1000 jobs.",
    )
    queue_tokens = models.BigIntegerField(
        "queue limit (tokens)",
        null=True,
        blank=True,
        validators=between(1, MAX_QUEUE),
        help_text="Tokens that may wait; empty: no bound. Example: 2000000 tokens.",
    )
    max_attempts = models.PositiveSmallIntegerField(
        "attempts",
        default=3,
        validators=between(1, 100),
        help_text="How often a job is tried. Example: 3.",
    )
    paused = models.BooleanField(
        default=False,
        help_text="Sheds every call of the class while on; its jobs wait. Example: on.",
    )
    draining = models.BooleanField(
        default=False,
        help_text="Takes no new jobs while on; those that wait are still run. Example: on, "
        "before an upgrade.",
    )

    class Meta:
        ordering = strictest_first()
        verbose_name_plural = "workload classes"
        permissions = [("pause_workloadclass", "Can pause, drain and resume workload class")]
        constraints = [
            slug_only("class"),
            one_of("class", "tier", TIERS),
            one_of("class", "when_unavailable", ["", *Unavailable.values]),
            in_range("class", "deadline_seconds", 1, WEEK),
            in_range("class", "max_call_seconds", 1, DAY),
            in_range("class", "max_call_tokens", 1, MAX_CALL_TOKENS),
            in_range("class", "max_attempts", 1, 100),
            in_range("class", "queue_limit", 1, MAX_QUEUE),
            in_range("class", "queue_tokens", 1, MAX_QUEUE),
        ]
        triggers = [*raise_version(ALL_POOLS), fixed_slug(), RecordTruncate()]

    def __str__(self) -> str:
        return self.slug

    @property
    def choice_when_away(self) -> Literal["admit", "shed", "local"]:
        """What its callers do while this service is away: as chosen, or as its tier does."""
        by_tier = Unavailable.LOCAL if self.tier == "interactive" else Unavailable.SHED
        return cast(Literal["admit", "shed", "local"], self.when_unavailable or by_tier.value)

    def clean(self) -> None:
        """Refuse a queue that is too small for the largest call: it could never hold that job."""
        if self.queue_tokens is not None and self.queue_tokens < self.max_call_tokens:
            least = f"{self.max_call_tokens:,}"
            raise ValidationError(
                {
                    "queue_tokens": f"A job of the largest call (max_call_tokens), {least} tokens, "
                    f"would never be taken in. Set it to {least} or more, leave it empty, or "
                    "lower the largest call."
                }
            )


def _percent(
    label: str, help_text: str, least: int | Decimal = 0, **options: Any
) -> "models.DecimalField[Any, Any]":
    return models.DecimalField(
        label,
        max_digits=5,
        decimal_places=2,
        validators=between(least, 100),
        help_text=help_text,
        **options,
    )


@remember()
class Reservation(Checked):
    """A class's terms on a pool."""

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="reservations")
    workload_class = models.ForeignKey(
        WorkloadClass, on_delete=models.CASCADE, related_name="reservations"
    )
    share_percent = _percent(
        "share %",
        "Floor: what looser classes cannot consume, in % of each limit's capacity. Example: 50 %.",
        default=0,
    )
    lendable_percent = _percent(
        "lendable %",
        "How much of an unspent floor stricter classes may take; empty: 0 / 70 / 100 % by tier. "
        "Example: 70 %.",
        null=True,
        blank=True,
    )
    headroom_percent = _percent(
        "headroom %",
        "How much of the unreserved part the class leaves free while stricter classes are at "
        "work; empty: 0 / 5 / 10 % by tier. Example: 5 %.",
        null=True,
        blank=True,
    )
    ceiling_percent = _percent(
        "ceiling %",
        "The most the class may take of each limit. Example: 100 %.",
        least=LEAST_PERCENT,
        default=100,
    )
    weight = models.DecimalField(
        max_digits=7,
        decimal_places=2,
        default=1,
        validators=between(LEAST_WEIGHT, 1000),
        help_text="Relative part among classes of one tier. Example: 2.",
    )
    yields_above_percent = _percent(
        "yields above %",
        "Beyond its floor the class is shed once this much of the interactive floors is spent; "
        "empty: never. Example: 80 %.",
        least=LEAST_PERCENT,
        null=True,
        blank=True,
    )
    except_limits = ArrayField(
        models.CharField(max_length=50),
        verbose_name="floor off on",
        default=list,
        blank=True,
        help_text="Limits on which the floor is switched off, as unit/algorithm. "
        "Example: requests/gauge.",
    )

    class Meta:
        ordering = ["pool", *strictest_first("workload_class__")]
        constraints = [
            models.UniqueConstraint(
                fields=["pool", "workload_class"], name="budget_one_reservation_per_class"
            ),
            in_range("reservation", "share_percent", 0, 100),
            in_range("reservation", "lendable_percent", 0, 100),
            in_range("reservation", "headroom_percent", 0, 100),
            in_range("reservation", "ceiling_percent", LEAST_PERCENT, 100),
            in_range("reservation", "yields_above_percent", LEAST_PERCENT, 100),
            in_range("reservation", "weight", LEAST_WEIGHT, 1000),
        ]
        triggers = [
            *raise_version("ARRAY[OLD.pool_id, NEW.pool_id]"),
            shares_within_pool(),
            RecordTruncate(),
        ]

    def __str__(self) -> str:
        return f"{self.workload_class} on {self.pool}"
