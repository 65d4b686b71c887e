"""Rows that a command names by their slugs."""

from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError
from django.db import models
from django.db.models import QuerySet


def named(model: type[models.Model], slugs: Iterable[str]) -> QuerySet[Any]:
    """The rows with these slugs. Raises `CommandError` naming those that don't exist."""
    wanted = set(slugs)
    rows: QuerySet[Any] = model._default_manager.filter(slug__in=wanted)
    missing = sorted(wanted - set(rows.values_list("slug", flat=True)))
    if missing:
        noun = model._meta.verbose_name
        known = ", ".join(model._default_manager.values_list("slug", flat=True)) or "none yet"
        raise CommandError(f"There is no {noun} {', '.join(missing)}. There are: {known}.")
    return rows
