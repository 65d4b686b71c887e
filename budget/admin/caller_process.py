"""Processes that call."""

from typing import ClassVar

from django.contrib import admin

from budget.admin.lists import PoolFilter, ReadOnlyAdmin
from budget.models import CallerProcess


@admin.register(CallerProcess)
class CallerProcessAdmin(ReadOnlyAdmin):
    """Those heard of in the last day or so, newest first."""

    ordering = ["-seen_at"]
    sortable_by: ClassVar[list[str]] = []
    list_display = ["name_or_process", "pool", "key", "seen"]
    fields = ("name", "process", "pool", "key", "seen")
    list_filter = [PoolFilter]
    id_field = "process"
    search_fields = ["name"]
    search_help_text = "Part of the name, or the whole id of a process."

    @admin.display(description="process")
    def name_or_process(self, row: CallerProcess) -> str:
        """What people know it by."""
        return str(row)

    @admin.display(description="key")
    def key(self, row: CallerProcess) -> str:
        """Prefix of its API key."""
        return row.key_prefix or "in process"

    @admin.display(description="last heard of (UTC)")
    def seen(self, row: CallerProcess) -> str:
        """To the second."""
        return f"{row.seen_at:%Y-%m-%d %H:%M:%S}"
