"""What tables that only the ledger writes share: permissions, search, filters."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest

from budget.models import Pool, WorkloadClass
from budget.rule.decision import REASONS


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows to look at; each belongs to a pool."""

    actions: Any = None
    change_form_template = "budget/admin/record.html"
    show_full_result_count = False
    list_per_page = 50
    id_field = "pk"
    """The UUID that a search looks for as a whole."""

    class Media:
        css = {"all": ["budget/admin.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the pool's slug."""
        slug = Pool.objects.filter(pk=OuterRef("pool_id")).values("slug")
        return super().get_queryset(request).annotate(pool_slug=Subquery(slug))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By id if it is one."""
        try:
            return queryset.filter(**{self.id_field: UUID(search_term)}), False
        except ValueError:
            return super().get_search_results(request, queryset, search_term.replace("\0", ""))

    @admin.display(description="pool")
    def pool(self, row: Any) -> str:
        """Its slug, or its number when the pool is gone."""
        return row.pool_slug or f"#{row.pool_id}"

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only the ledger adds."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only the ledger changes."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody deletes."""
        return False


class ColumnFilter(admin.SimpleListFilter):
    """A filter whose choices don't come from the big table itself."""

    parameter_name: str

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Rows with the chosen value."""
        return queryset.filter(**{self.parameter_name: self.value()}) if self.value() else queryset


class PoolFilter(ColumnFilter):
    """By pool."""

    title = "pool"
    parameter_name = "pool_id"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        """Existing pools."""
        return list(Pool.objects.values_list("pk", "slug"))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Rows of the chosen pool; an address made up by hand chooses none."""
        value = self.value()
        if value and not (value.isdecimal() and len(value) < 19):
            return queryset.none()
        return super().queryset(request, queryset)


class ClassFilter(ColumnFilter):
    """By workload class."""

    title = "class"
    parameter_name = "workload_class"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        """Existing classes."""
        return [(slug, slug) for slug in WorkloadClass.objects.values_list("slug", flat=True)]


class ClassOrNoneFilter(ClassFilter):
    """By workload class, or the calls that named none."""

    UNTAGGED = "~untagged"
    """How addresses say it; no slug has a tilde."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        """Existing classes, and none."""
        return [*super().lookups(request, model_admin), (self.UNTAGGED, "untagged calls")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Rows of the chosen class, or of none."""
        if self.value() == self.UNTAGGED:
            return queryset.filter(workload_class="")
        return super().queryset(request, queryset)


class QueuedClassFilter(ClassFilter):
    """By a workload class that has a queue."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        """Existing near-line and bulk classes."""
        queued = WorkloadClass.objects.exclude(tier="interactive")
        return [(slug, slug) for slug in queued.values_list("slug", flat=True)]


class ReasonFilter(ColumnFilter):
    """By the reason of a refusal, real or would-be."""

    title = "reason"
    parameter_name = "reason"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        """The closed set."""
        return [(reason, reason.replace("_", " ")) for reason in REASONS]
