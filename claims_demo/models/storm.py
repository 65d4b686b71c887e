"""The storm: what a person chose, and what happened in each of its seconds."""

from functools import cached_property

import msgspec
from django.db import models

from claims_demo.storm.tally import Tally


class StormControl(models.Model):
    """How strong the storm shall be. There is one row at most; none means automatic."""

    only = models.BooleanField(primary_key=True, default=True)
    strength = models.PositiveSmallIntegerField(null=True)
    """By what the volume of claims is multiplied; None leaves it to the weather."""
    chosen_by = models.TextField(blank=True)
    """Whoever pressed the button."""

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(only=True), name="claims_demo_one_control"),
        ]

    def __str__(self) -> str:
        return "automatic" if self.strength is None else f"×{self.strength}"


class StormSecond(models.Model):
    """One second of a storm, written once by its process and kept for an hour."""

    at = models.DateTimeField(primary_key=True)
    """The whole second at whose end it was counted."""
    strength = models.PositiveSmallIntegerField()
    waits_ms = models.JSONField(default=list)
    """How many milliseconds each question took that was answered, or ended late without."""
    late_ms = models.JSONField(default=list)
    """How old each question was at the end that was late and still open."""
    counts = models.JSONField(default=dict)
    """The `tallies` as JSON."""

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} ×{self.strength}"

    @cached_property
    def tallies(self) -> dict[str, Tally]:
        """What became of each service's work in this second, by workload class."""
        return msgspec.convert(self.counts, dict[str, Tally])
