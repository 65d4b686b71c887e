"""Wait until a workload class's queue takes jobs freely, for producers that come by the clock.

Ends with status 0 once the queue is green, with 1 if it isn't within the timeout, and with 2
if there is nothing to wait for.
"""

import math
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from budget import services
from budget.jobs import words
from budget.management.migrated import migrated
from budget.services import QueueView, UnknownPool

NOTHING_TO_WAIT_FOR = 2


class Command(BaseCommand):
    """Pauses a script before it is refused."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which queue, and how long."""
        parser.add_argument("pool", metavar="POOL", help="slug of the pool")
        parser.add_argument("workload_class", metavar="CLASS", help="slug of the workload class")
        parser.add_argument(
            "--timeout",
            type=_seconds,
            metavar="SECONDS",
            help="give up after so long; default: never",
        )
        parser.add_argument(
            "--poll",
            type=_seconds,
            default=1.0,
            metavar="SECONDS",
            help="how often to look; default: every second",
        )

    def handle(self, *args: Any, pool: str, workload_class: str, **options: Any) -> None:
        """Say nothing but that it is green."""
        if not options["poll"]:
            raise CommandError("--poll must be more than 0.", returncode=NOTHING_TO_WAIT_FOR)
        with migrated():
            _queue(pool, workload_class)
            green = services.wait_until_green(
                pool, workload_class, options["timeout"], options["poll"]
            )
        if not green:
            raise CommandError(_in_words(workload_class, _queue(pool, workload_class)))
        self.stdout.write(f"The queue of {workload_class} on {pool} is green.")


def _queue(pool: str, workload_class: str) -> QueueView:
    try:
        queues = services.queues(pool)
    except UnknownPool as error:
        raise CommandError(str(error), returncode=NOTHING_TO_WAIT_FOR) from None
    if workload_class not in queues:
        known = ", ".join(queues) or "none yet"
        raise CommandError(
            f"There is no near-line or bulk class {workload_class}. There are: {known}.",
            returncode=NOTHING_TO_WAIT_FOR,
        )
    return queues[workload_class]


def _in_words(slug: str, queue: QueueView) -> str:
    switched = [word for word in ("paused", "draining") if getattr(queue, word)]
    return (
        f"The queue of {slug} is {', '.join([queue.state, *switched])}; depth: {queue.depth:,}, "
        f"expected wait: {words.expected_wait(queue.expected_wait_seconds)}."
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise ArgumentTypeError(f"{text!r} is no number of seconds from 0 on")
    return seconds
