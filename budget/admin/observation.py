"""What providers said that changed what is left of a pool."""

from typing import ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from budget.admin.lists import PoolFilter, ReadOnlyAdmin
from budget.ledger.clock import moment
from budget.models import Observation

COLUMNS = ("taken_in", "pool", "leaked_in_words", "refusal_in_words", "put_off", "key")


class LeakFilter(admin.SimpleListFilter):
    """Leaks alone, or everything else alone."""

    title = "leak"
    parameter_name = "leak"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        """Yes or no."""
        return [("yes", "yes"), ("no", "no")]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[Observation]
    ) -> QuerySet[Observation]:
        """Rows with or without a leak."""
        match self.value():
            case "yes":
                return queryset.exclude(leaked={})
            case "no":
                return queryset.filter(leaked={})
        return queryset


@admin.register(Observation)
class ObservationAdmin(ReadOnlyAdmin):
    """Newest first; the id is made of the time, so its index serves the order."""

    ordering = ["-id"]
    sortable_by: ClassVar[list[str]] = []
    list_display = COLUMNS
    fields = ("id", *COLUMNS, "said")
    list_filter = [PoolFilter, LeakFilter, "refusal"]

    @admin.display(description="taken in (UTC)")
    def taken_in(self, row: Observation) -> str:
        """To the second."""
        return f"{row.at:%Y-%m-%d %H:%M:%S}"

    @admin.display(description="said (UTC)")
    def said(self, row: Observation) -> str:
        """When the provider said it, by the ledger's clock."""
        return f"{row.said_at:%Y-%m-%d %H:%M:%S}"

    @admin.display(description="leaked")
    def leaked_in_words(self, row: Observation) -> str:
        """`40,000 total tokens`."""
        amounts = (f"{amount:,} {unit.replace('_', ' ')}" for unit, amount in row.leaked.items())
        return ", ".join(amounts) or "–"

    @admin.display(description="refusal")
    def refusal_in_words(self, row: Observation) -> str:
        """`busy`, with the wait that the provider asked for."""
        if not row.refusal:
            return "–"
        wait = "" if row.wait_seconds is None else f", wait {row.wait_seconds:g} s"
        return f"{row.get_refusal_display()}{wait}"

    @admin.display(description="left alone by, until (UTC)")
    def put_off(self, row: Observation) -> str:
        """`nightly 12:00:05`."""
        times = (f"{slug} {moment(until):%H:%M:%S}" for slug, until in row.backoff.items())
        return ", ".join(times) or "–"

    @admin.display(description="told by key")
    def key(self, row: Observation) -> str:
        """Prefix of the API key that told it."""
        return row.key_prefix or "in process"
