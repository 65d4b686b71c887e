"""manage.py classify_claims: what a scheduler runs every night."""

from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from budget import services
from budget.services import BudgetError
from claims_demo.claims import POOL
from claims_demo.claims.nightly import (
    CLASS,
    ENQUEUED,
    classify,
    due,
    in_words,
    take_in_answers,
)

STEP = 25
"""Claims handed in before looking at the queue again."""


class Command(BaseCommand):
    """Enqueues the claims that are due, no faster than the queue takes them."""

    help = "Classify the claims that changed since they were classified, as every night."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """How long to be patient."""
        parser.add_argument(
            "--timeout",
            type=float,
            default=3600.0,
            help="seconds to wait for room in the queue before giving up (default: 3600)",
        )

    def handle(self, *args: Any, timeout: float, **options: Any) -> None:
        """Wait until the queue is green, hand in some, and so on."""
        outcomes: Counter[str] = Counter()
        try:
            take_in_answers()
            # What comes due meanwhile is for the next night.
            left = due().count()
            while left > 0:
                if not services.wait_until_green(POOL, CLASS, timeout):
                    raise CommandError(f"{left} claims wait: no room within {timeout:g} s.")
                enqueued = classify(min(STEP, left))[ENQUEUED]
                outcomes[ENQUEUED] += enqueued
                left = min(left - enqueued, due().count())
        except BudgetError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(in_words(outcomes))
