"""What callers decided by themselves while the service was away."""

from datetime import datetime
from typing import ClassVar

from django.contrib import admin

from budget.admin.lists import ClassFilter, PoolFilter, ReadOnlyAdmin
from budget.models import AwayReport

COLUMNS = ("from_utc", "to_utc", "pool", "class_or_none", "choice", "admitted", "shed", "tokens")


@admin.register(AwayReport)
class AwayReportAdmin(ReadOnlyAdmin):
    """Newest first: one row per process, class, choice and outage."""

    ordering = ["-id"]
    sortable_by: ClassVar[list[str]] = []
    list_display = (*COLUMNS, "key")
    fields = (*COLUMNS, "key", "received", "report")
    list_filter = [PoolFilter, ClassFilter, "choice"]
    id_field = "report"
    search_fields = ["key_prefix"]
    search_help_text = "Prefix of an API key, or the whole id of a report."

    @admin.display(description="from (UTC)")
    def from_utc(self, row: AwayReport) -> str:
        """When its first call was decided on."""
        return _moment(row.first_at)

    @admin.display(description="to (UTC)")
    def to_utc(self, row: AwayReport) -> str:
        """When its last call was decided on."""
        return _moment(row.last_at)

    @admin.display(description="class")
    def class_or_none(self, row: AwayReport) -> str:
        """Its slug."""
        return row.workload_class or "untagged calls"

    @admin.display(description="tokens in + out")
    def tokens(self, row: AwayReport) -> str:
        """Of the admitted calls."""
        return f"{row.input_tokens:,} + {row.output_tokens:,}"

    @admin.display(description="key")
    def key(self, row: AwayReport) -> str:
        """Prefix of the API key that reported it."""
        return row.key_prefix or "in process"

    @admin.display(description="received (UTC)")
    def received(self, row: AwayReport) -> str:
        """When the report came."""
        return _moment(row.received_at)


def _moment(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S}"
