"""Usage by minute."""

from collections.abc import Mapping

from django.contrib import admin

from budget.admin.lists import ClassFilter, PoolFilter, ReadOnlyAdmin
from budget.models import UsageMinute
from budget.pages.percents import percent

COLUMNS = (
    "minute_utc",
    "pool",
    "workload_class",
    "calls",
    "not_tagged",
    "not_admitted",
    "estimated",
    "used",
    "utilisation",
)


@admin.register(UsageMinute)
class UsageMinuteAdmin(ReadOnlyAdmin):
    """Closed minutes, newest first."""

    ordering = ["-minute", "pool_id", "workload_class"]
    sortable_by = ["minute"]
    list_display = COLUMNS
    fields = (*COLUMNS, "refunded", "overrun")
    list_filter = [PoolFilter, ClassFilter]
    date_hierarchy = "minute"

    @admin.display(description="minute (UTC)", ordering="minute")
    def minute_utc(self, row: UsageMinute) -> str:
        """When it began."""
        return f"{row.minute:%Y-%m-%d %H:%M}"

    @admin.display(description="admitted")
    def calls(self, row: UsageMinute) -> str:
        """`1,204 of 1,300`."""
        return f"{row.admitted:,} of {row.offered:,}"

    @admin.display(description="untagged")
    def not_tagged(self, row: UsageMinute) -> str:
        """How many of the offered named no class."""
        return f"{row.untagged:,}"

    @admin.display(description="shed")
    def not_admitted(self, row: UsageMinute) -> str:
        """`12 headroom, 3 ceiling`; in observe mode `would shed 12 headroom`."""
        if row.would_shed and not row.shed:
            return f"would shed {_by_reason(row.would_shed)}"
        would = f"; would shed {_by_reason(row.would_shed)}" if row.would_shed else ""
        return _by_reason(row.shed) + would

    @admin.display(description="estimated tokens")
    def estimated(self, row: UsageMinute) -> str:
        """Of the admitted calls."""
        return f"{row.estimated_tokens:,}"

    @admin.display(description="used tokens")
    def used(self, row: UsageMinute) -> str:
        """Of the settled calls."""
        return f"{row.used_tokens:,}"

    @admin.display(description="refunded tokens")
    def refunded(self, row: UsageMinute) -> str:
        """Estimated and not used."""
        return f"{row.refunded_tokens:,}"

    @admin.display(description="overrun tokens")
    def overrun(self, row: UsageMinute) -> str:
        """Used and not estimated."""
        return f"{row.overrun_tokens:,}"

    @admin.display(description="utilisation")
    def utilisation(self, row: UsageMinute) -> str:
        """Of the pool's leading limit, in that minute; 0 where refunds outweigh it."""
        return percent(max(0, 100 * row.charged / row.allowance)) if row.allowance else "–"


def _by_reason(counts: Mapping[str, int]) -> str:
    reasons = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in reasons) or "0"
