"""Calls: every decision with its arithmetic, and what became of it."""

from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html

from budget.admin.lists import ClassFilter, PoolFilter, ReadOnlyAdmin, ReasonFilter
from budget.models import Call, Pool
from budget.rule.decision import Standing


class Verdict(NamedTuple):
    """One limit's numbers and what they led to, in words."""

    standing: Standing
    fits: bool
    words: str


@admin.register(Call)
class CallAdmin(ReadOnlyAdmin):
    """Newest first; the id is made of the time, so its index serves the order."""

    change_form_template = "budget/admin/call.html"
    ordering = ["-id"]
    sortable_by: list[str] = []
    list_display = [
        "offered_at",
        "pool",
        "workload_class",
        "decision",
        "reason",
        "estimate",
        "used",
        "outcome",
        "source",
    ]
    list_filter = [PoolFilter, ClassFilter, "state", ReasonFilter]
    search_fields = ["source"]
    search_help_text = "Part of the source, or a whole call id."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Call]:
        """With the pool's slug."""
        slug = Pool.objects.filter(pk=OuterRef("pool_id")).values("slug")
        return super().get_queryset(request).annotate(pool_slug=Subquery(slug))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Call], search_term: str
    ) -> tuple[QuerySet[Call], bool]:
        """By id if it is one."""
        try:
            return queryset.filter(pk=UUID(search_term)), False
        except ValueError:
            return super().get_search_results(request, queryset, search_term.replace("\0", ""))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The call in full."""
        call = object_id and self.get_object(request, object_id)
        context = {"call": call, "verdicts": verdicts(call)} if call else {}
        return super().changeform_view(
            request, object_id, form_url, (extra_context or {}) | context
        )

    @admin.display(description="pool")
    def pool(self, call: Any) -> str:
        """Its slug, or its number when the pool is gone."""
        return call.pool_slug or f"#{call.pool_id}"

    @admin.display(description="decision")
    def decision(self, call: Call) -> str:
        """Admitted or shed, and the state of the lease."""
        word = call.get_state_display()
        return format_html('<span class="budget-badge budget-{}">{}</span>', call.state, word)

    @admin.display(description="estimate")
    def estimate(self, call: Call) -> str:
        """Input + output tokens."""
        return f"{call.input_tokens:,} + {call.output_tokens:,}"

    @admin.display(description="used")
    def used(self, call: Call) -> str:
        """Input + output tokens, once settled."""
        if call.used_input_tokens is None or call.used_output_tokens is None:
            return "–"
        return f"{call.used_input_tokens:,} + {call.used_output_tokens:,}"


def verdicts(call: Call) -> list[Verdict]:
    """The decision on each touched limit, in words."""
    return [_verdict(standing) for standing in msgspec.convert(call.arithmetic, list[Standing])]


def _verdict(standing: Standing) -> Verdict:
    usable = standing.free - standing.headroom
    if standing.within_floor:
        words = f"{standing.cost:,} fits the class's own floor of {standing.own_floor:,.0f}."
        return Verdict(standing, True, words)
    if standing.shortfall <= 0:
        return Verdict(standing, True, f"{standing.cost:,} fits the {usable:,.0f} left to it.")
    missing = f"{standing.shortfall:,.0f} more than the {max(usable, 0):,.0f} left to it"
    return Verdict(standing, False, f"{standing.cost:,} is {missing}.")
