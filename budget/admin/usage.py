"""Usage by minute."""

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest

from budget.admin.lists import ClassFilter, PoolFilter, ReadOnlyAdmin
from budget.models import Pool, UsageMinute


@admin.register(UsageMinute)
class UsageMinuteAdmin(ReadOnlyAdmin):
    """Closed minutes, newest first."""

    ordering = ["-minute", "pool_id", "workload_class"]
    sortable_by = ["minute"]
    list_display = [
        "minute",
        "pool",
        "workload_class",
        "offered",
        "admitted",
        "shed_in_words",
        "estimated_tokens",
        "used_tokens",
        "utilisation",
    ]
    list_filter = [PoolFilter, ClassFilter]
    date_hierarchy = "minute"

    def get_queryset(self, request: HttpRequest) -> QuerySet[UsageMinute]:
        """With the pool's slug."""
        slug = Pool.objects.filter(pk=OuterRef("pool_id")).values("slug")
        return super().get_queryset(request).annotate(pool_slug=Subquery(slug))

    @admin.display(description="pool")
    def pool(self, row: Any) -> str:
        """Its slug, or its number when the pool is gone."""
        return row.pool_slug or f"#{row.pool_id}"

    @admin.display(description="shed")
    def shed_in_words(self, row: UsageMinute) -> str:
        """`12 headroom, 3 ceiling`."""
        reasons = sorted(row.shed.items(), key=lambda item: -item[1])
        return (
            ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in reasons) or "0"
        )

    @admin.display(description="utilisation")
    def utilisation(self, row: UsageMinute) -> str:
        """Of the pool's leading limit, in that minute; 0 where refunds outweigh it."""
        return f"{max(0, 100 * row.charged / row.allowance):.1f} %" if row.allowance else "–"
