"""Ranges and choices of policy fields, said once for the form and once for the database."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

SLUG = r"^[-a-zA-Z0-9_]+$"


def between(least: int | Decimal, most: int) -> list[Any]:
    """Validators for a field that lies in [least, most]."""
    return [MinValueValidator(least), MaxValueValidator(most)]


def in_range(model: str, field: str, least: int | Decimal, most: int) -> models.CheckConstraint:
    """The same in the database, where NaN counts as too large; NULL passes."""
    return models.CheckConstraint(
        condition=Q(**{f"{field}__gte": least, f"{field}__lte": most}),
        name=f"budget_{model}_{field}",
    )


def one_of(model: str, field: str, values: Iterable[str]) -> models.CheckConstraint:
    """The field holds one of the values."""
    return models.CheckConstraint(
        condition=Q(**{f"{field}__in": list(values)}), name=f"budget_{model}_{field}"
    )


def slug_only(model: str) -> models.CheckConstraint:
    """Slugs stay letters, digits, hyphens and underscores."""
    return models.CheckConstraint(condition=Q(slug__regex=SLUG), name=f"budget_{model}_slug")


class Checked(models.Model):
    """A policy row that refuses to be saved out of range, whoever saves it.

    Bulk operations skip this and meet the database's own constraints.
    """

    class Meta:
        abstract = True

    def save(self, *args: Any, **options: Any) -> None:
        """Validate all fields, then save.

        Raises `ValidationError` naming the field.
        """
        self.full_clean()
        super().save(*args, **options)
