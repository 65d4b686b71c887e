"""What callers decided by themselves while the service was away."""

from datetime import datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from budget.admin.lists import ClassOrNoneFilter, ColumnFilter, PoolFilter, ReadOnlyAdmin
from budget.models import AwayReport
from budget.models.choices import Unavailable

LAST = ("admitted_calls", "shed_calls", "tokens", "key")


class ChoiceFilter(ColumnFilter):
    """By what the class's calls did."""

    title = "choice"
    parameter_name = "choice"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        """By their short names."""
        return [(choice, choice) for choice in Unavailable.values]


@admin.register(AwayReport)
class AwayReportAdmin(ReadOnlyAdmin):
    """Those of the newest calls first."""

    change_list_template = "budget/admin/away_reports.html"
    ordering = ["-last_at", "-id"]
    sortable_by: ClassVar[list[str]] = []
    list_display = ("from_utc", "to_utc", "pool", "class_or_none", "choice_name", *LAST)
    fields = ("from_utc", "to_utc", "pool", "class_or_none", "choice", *LAST, "received", "report")
    list_filter = [PoolFilter, ClassOrNoneFilter, ChoiceFilter]
    id_field = "report"
    search_fields = ["key_prefix"]
    search_help_text = "Prefix of an API key, or the whole id of a report."

    @admin.display(description="from (UTC)")
    def from_utc(self, row: AwayReport) -> str:
        """When its first call was decided on."""
        return _moment(row.first_at)

    @admin.display(description="to (UTC)")
    def to_utc(self, row: AwayReport) -> str:
        """When its last call was decided on; the time alone if that was the same day."""
        same_day = row.last_at.date() == row.first_at.date()
        return f"{row.last_at:%H:%M:%S}" if same_day else _moment(row.last_at)

    @admin.display(description="choice")
    def choice_name(self, row: AwayReport) -> str:
        """Its short name."""
        return row.choice

    @admin.display(description="class")
    def class_or_none(self, row: AwayReport) -> str:
        """Its slug."""
        return row.workload_class or "untagged calls"

    @admin.display(description="admitted")
    def admitted_calls(self, row: AwayReport) -> str:
        """How many went."""
        return f"{row.admitted:,}"

    @admin.display(description="shed")
    def shed_calls(self, row: AwayReport) -> str:
        """How many did not."""
        return f"{row.shed:,}"

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
