"""Print the policy as YAML that load_policy reads."""

from typing import Any

from django.core.management.base import BaseCommand

from budget.management.migrated import migrated
from budget.management.piped import piped
from budget.policy.dump import dump


class Command(BaseCommand):
    """Prints all workload classes and pools."""

    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the policy file to standard output."""
        with migrated():
            policy = dump()
        with piped(self.stdout):
            self.stdout.write(policy, ending="")
