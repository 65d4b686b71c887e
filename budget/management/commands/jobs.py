"""Show the queues of jobs, or pause, resume, drain or cancel a workload class's.

Without a verb it prints a line per pool and class. Pausing a class sheds its calls, too.
"""

import json
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Iterator
from typing import Any

import msgspec
from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet
from django.db.models.functions import Now

from budget import services
from budget.jobs import words
from budget.jobs.chunks import chunks
from budget.ledger.errors import BudgetError
from budget.management.migrated import migrated
from budget.management.named import named
from budget.management.piped import piped
from budget.models import Job, Pool, WorkloadClass
from budget.policy.audit import account, audit, signed
from budget.policy.switches import CLASS_SWITCHES, UNCHANGED
from budget.services import QueueView

AT_ONCE = 500
"""Jobs cancelled together."""
HEADINGS = (
    "pool",
    "class",
    "state",
    "order",
    "depth",
    "tokens",
    "running",
    "oldest wait",
    "expected wait",
    "taken/min",
)
NUMBERS = range(4, len(HEADINGS))
"""Columns set to the right."""


class Command(BaseCommand):
    """Shows the queues of jobs, a line per pool and class; or, with a verb and the slug of a
    class, as in `jobs pause nightly`, pauses, drains or resumes the class, or cancels its jobs."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        """A verb and its class, or none."""
        parser.add_argument("--pool", help="only this pool: its slug")
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
        verbs = parser.add_subparsers(dest="verb", metavar="[VERB CLASS]")
        for verb, switch in CLASS_SWITCHES.items():
            _add_verb(verbs, verb, switch.effect, pool_help=SUPPRESS)
        _add_verb(
            verbs,
            "cancel",
            "End all jobs of the class that wait.",
            pool_help="only those on this pool: its slug",
        )

    def handle(self, *args: Any, verb: str | None, **options: Any) -> None:
        """Do what the verb says, and tell it."""
        _refuse_useless(verb, options)
        with migrated(), piped(self.stdout):
            if verb is None:
                self._show(options["pool"], options["json"])
            elif verb == "cancel":
                self._cancel(options["workload_class"], options["pool"], options["reason"])
            else:
                self._turn(verb, options["workload_class"], options["reason"])

    def _show(self, pool: str | None, as_json: bool) -> None:
        found = [
            (row.slug, slug, view)
            for row in _pools(pool)
            for slug, view in services.queues(row.slug).items()
        ]
        if as_json:
            rows = [
                {"pool": slug, "workload_class": name, **msgspec.structs.asdict(view)}
                for slug, name, view in found
            ]
            self.stdout.write(json.dumps(rows, indent=2))
        elif not found:
            self.stdout.write("There are no pools with near-line or bulk classes.")
        else:
            self.stdout.writelines(_table([_row(*each) for each in found]))

    def _turn(self, verb: str, slug: str, reason: str) -> None:
        rows = named(WorkloadClass, [slug])
        with audit(f"jobs {verb} {slug}", reason):
            self.stdout.write(CLASS_SWITCHES[verb].turn(rows) or UNCHANGED)

    def _cancel(self, slug: str, pool: str | None, reason: str) -> None:
        """Those that wait as it begins: what comes meanwhile is not meant."""
        named(WorkloadClass, [slug])
        pools = _pools(pool)
        waiting = Job.objects.filter(
            pool_id__in=[row.pk for row in pools],
            workload_class=slug,
            state=Job.State.QUEUED,
            enqueued_at__lte=Now(),
        )
        ids = waiting.order_by("id").values_list("pk", flat=True).iterator(AT_ONCE)
        cancelled = 0
        try:
            for chunk in chunks(ids, AT_ONCE):
                cancelled += services.cancel_jobs(chunk, signed(reason, account()))
        except BudgetError as error:
            raise CommandError(f"Cancelled {cancelled:,} jobs, then: {error}") from None
        where = ", ".join(row.slug for row in pools)
        self.stdout.write(f"Cancelled {cancelled:,} jobs of {slug} on {where}.")


def _add_verb(verbs: Any, verb: str, effect: str, pool_help: str) -> None:
    """All options may stand behind a verb too; those it has no use for are refused in words."""
    parser: ArgumentParser = verbs.add_parser(verb, help=effect)
    parser.add_argument("workload_class", metavar="CLASS", help="slug of the workload class")
    parser.add_argument("--reason", default="", help="why, for the record")
    parser.add_argument("--pool", default=SUPPRESS, help=pool_help)
    parser.add_argument("--json", action="store_true", default=SUPPRESS, help=SUPPRESS)


def _refuse_useless(verb: str | None, options: dict[str, Any]) -> None:
    if verb and options["json"]:
        raise CommandError(f"{verb} prints no JSON: leave --json out.")
    if verb and verb in CLASS_SWITCHES and options["pool"]:
        done = f"{verb.removesuffix('e')}ed"
        raise CommandError(f"A class is {done} on all pools; --pool is for cancel.")


def _pools(slug: str | None) -> QuerySet[Any]:
    return Pool.objects.all() if slug is None else named(Pool, [slug])


def _row(pool: str, workload_class: str, view: QueueView) -> list[str]:
    switched = [word for word in ("paused", "draining") if getattr(view, word)]
    return [
        pool,
        workload_class,
        ", ".join(filter(None, [view.state, *switched, words.waits_for(view)])),
        words.ORDERS[view.order],
        f"{view.depth:,}",
        f"{view.tokens:,}",
        f"{view.running:,}",
        words.oldest_wait(view.oldest_wait_seconds),
        words.expected_wait(view.expected_wait_seconds),
        f"{view.taken_per_minute:,.1f}",
    ]


def _table(rows: list[list[str]]) -> Iterator[str]:
    lines = [list(HEADINGS), *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    for line in lines:
        cells = (
            cell.rjust(width) if column in NUMBERS else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        yield "  ".join(cells).rstrip() + "\n"
