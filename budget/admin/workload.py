"""Workload classes."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from budget.admin.forms import WorkloadClassForm
from budget.admin.policy import PolicyAdmin
from budget.admin.queues import queues_of
from budget.admin.recent_usage import observed, recent_usage
from budget.admin.standings import standings_of
from budget.models import Pool, WorkloadClass
from budget.policy.history import Scope, scope_of_class
from budget.policy.switches import CLASS_SWITCHES
from budget.policy.words import RESERVATION, written

SHARE = RESERVATION["share_percent"]


@admin.register(WorkloadClass)
class WorkloadClassAdmin(PolicyAdmin):
    """Classes, strictest first."""

    form = WorkloadClassForm
    switches = CLASS_SWITCHES
    list_display = ["slug", "tier", "deadline", "largest_call", "state", "shares"]
    list_filter = ["tier", "paused", "draining"]
    search_fields = ["slug"]
    fieldsets = [
        (None, {"fields": ["slug", "tier", "deadline_seconds", "paused", "draining"]}),
        ("Calls", {"fields": ["max_call_seconds", "max_call_tokens", "when_unavailable"]}),
        ("Jobs", {"fields": ["queue_limit", "queue_tokens", "max_attempts"]}),
    ]

    def scope(self, pk: int) -> Scope:
        """The class with its reservations."""
        return scope_of_class(pk)

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkloadClass]:
        """With what the list says about shares."""
        return super().get_queryset(request).prefetch_related("reservations__pool")

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Add live and recent figures on every pool."""
        row = context.get("original")
        if row is not None and not context["errors"]:
            stored = WorkloadClass.objects.get(pk=row.pk)
            pools = Pool.objects.all()
            usages = recent_usage(pools, stored.slug)
            context |= {
                "stored": stored,
                "standings_of": standings_of(stored.slug),
                "queues": queues_of(stored, pools),
                "usages": usages,
                "observed": observed(pools, usages),
                "switch_links": self.switch_links(request, stored),
            }
        return super().render_change_form(request, context, *args, **kwargs)

    def switch_links(self, request: HttpRequest, row: WorkloadClass) -> list[tuple[str, str]]:
        """An interactive class has no queue to drain."""
        drain = CLASS_SWITCHES["drain"].label
        links = super().switch_links(request, row)
        return [link for link in links if row.tier != "interactive" or link[0] != drain]

    @admin.display(description="deadline", ordering="deadline_seconds")
    def deadline(self, row: WorkloadClass) -> str:
        """`300 s`."""
        return f"{row.deadline_seconds:,} s"

    @admin.display(description="largest call", ordering="max_call_tokens")
    def largest_call(self, row: WorkloadClass) -> str:
        """`16,000 tokens`."""
        return f"{row.max_call_tokens:,} tokens"

    @admin.display(description="state")
    def state(self, row: WorkloadClass) -> str:
        """Open, paused or draining."""
        word = "paused" if row.paused else "draining" if row.draining else "open"
        return format_html('<span class="budget-badge budget-{}">{}</span>', word, word)

    @admin.display(description="shares")
    def shares(self, row: WorkloadClass) -> str:
        """`claims 50 %`."""
        rows = row.reservations.all()
        return (
            " · ".join(f"{each.pool} {written(each.share_percent, SHARE)}" for each in rows)
            or "none"
        )
