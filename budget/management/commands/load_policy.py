"""Put a policy file into force."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from budget.management.migrated import migrated
from budget.policy.audit import audit
from budget.policy.document import read_document
from budget.policy.load import load
from budget.policy.yaml_tree import MAX_BYTES, PolicyFileError


class Command(BaseCommand):
    """Replaces each pool the file names, upserts its classes, leaves other pools."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        """FILE may be `-` for standard input."""
        parser.add_argument("file", help="the policy file; - reads standard input")
        parser.add_argument(
            "--dry-run", action="store_true", help="check and show the differences, write nothing"
        )
        parser.add_argument("--reason", default="", help="why, for the history")

    def handle(self, *args: Any, file: str, dry_run: bool, reason: str, **options: Any) -> None:
        """Print the differences in words."""
        try:
            document = read_document(_read(file))
            with migrated(), audit(f"load_policy {file}", reason):
                report = load(document, dry_run)
        except PolicyFileError as error:
            faults = "\n".join(f"{file}: {fault}" for fault in error.faults)
            raise CommandError(f"Nothing was changed.\n{faults}") from None
        for line in (*report.differences, *(f"note: {note}" for note in report.notes)):
            self.stdout.write(line)
        if not report.differences:
            self.stdout.write("No differences.")
        elif dry_run:
            self.stdout.write("Dry run: nothing was changed.")


def _read(file: str) -> bytes:
    try:
        if file == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(file).open("rb") as source:
            return source.read(MAX_BYTES + 1)
    except OSError as error:
        raise CommandError(f"Can't read {file}: {error.strerror}.") from None
