"""Create an API key and print it once."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import models, transaction

from budget.management.named import named
from budget.models import ApiKey, Pool, WorkloadClass
from budget.policy.audit import audit

NAME_LENGTH = 50


class Command(BaseCommand):
    """The key is good for all classes and pools unless some are named."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Slugs are separated by commas or spaces, and an option may come more than once."""
        parser.add_argument("name", help="what the key is for")
        several: dict[str, Any] = {"nargs": "+", "action": "extend", "metavar": "SLUG"}
        parser.add_argument("--classes", **several, help="only these workload classes: a,b or a b")
        parser.add_argument("--pools", **several, help="only these pools: p,q or p q")

    def handle(
        self,
        *args: Any,
        name: str,
        classes: list[str] | None,
        pools: list[str] | None,
        **options: Any,
    ) -> None:
        """Print what the key may do, and on the last line the key alone."""
        if not 1 <= len(name) <= NAME_LENGTH:
            raise CommandError("NAME must have 1 to 50 characters.")
        classes, pools = _slugs(classes), _slugs(pools)
        with transaction.atomic(), audit("create_api_key"):
            bound_classes = _rows(WorkloadClass, classes)
            bound_pools = _rows(Pool, pools)
            record: Any
            record, key = ApiKey.objects.create_key(
                name=name, all_classes=classes is None, all_pools=pools is None
            )
            record.classes.set(bound_classes)
            record.pools.set(bound_pools)
        self.stdout.write(
            f"Key {record.prefix} of {name}, for {_scope(classes, 'classes')} "
            f"and {_scope(pools, 'pools')}. It is shown only now:"
        )
        self.stdout.write(key)


def _slugs(texts: list[str] | None) -> list[str] | None:
    if texts is None:
        return None
    return [slug.strip() for text in texts for slug in text.split(",") if slug.strip()]


def _rows(model: type[models.Model], slugs: list[str] | None) -> list[models.Model]:
    """The named rows. Raises `CommandError` naming those that don't exist."""
    noun = model._meta.verbose_name
    if slugs == []:
        raise CommandError(f"Name at least one {noun}, or leave the option out for all.")
    return list(named(model, slugs or []))


def _scope(slugs: list[str] | None, noun: str) -> str:
    return f"all {noun}" if slugs is None else f"{noun} {', '.join(slugs)}"
