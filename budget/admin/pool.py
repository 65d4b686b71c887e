"""Pools with their limits and reservations."""

from typing import Any

from django.contrib import admin
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from django.db.models.functions import JSONObject
from django.http import HttpRequest
from django.utils.html import format_html

from budget.admin.forms import PolicyFormSet, PoolForm, RowForm
from budget.admin.policy import PolicyAdmin, PolicyFields
from budget.admin.queues import queues_on
from budget.admin.recent_usage import observed, recent_usage
from budget.admin.standings import standings
from budget.models import Limit, PolicyVersion, Pool, ProviderLimit, Reservation
from budget.pages.provider_limits import disagreements
from budget.policy.endpoint import endpoint_notes
from budget.policy.history import Scope, scope_of_pool
from budget.policy.stored import stored_terms
from budget.policy.switches import POOL_SWITCHES
from budget.policy.words import RESERVATION, written

SHARE = RESERVATION["share_percent"]


class PolicyInline(PolicyFields, admin.TabularInline):
    """Rows of a pool; more are added by button, so an unfilled one never gets in the way."""

    template = "budget/admin/policy_inline.html"
    form = RowForm
    formset = PolicyFormSet
    extra = 0


class LimitInline(PolicyInline):
    """The pool's ceilings."""

    model = Limit
    fields = ["unit", "algorithm", "amount", "per_seconds", "burst_percent", "of_batch"]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """To those who may only look, a limit of calls is no red cross."""
        if self.has_change_permission(request, obj) or self.has_add_permission(request, obj):
            return self.fields
        return [*self.fields[:-1], "of_batch_in_words"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """What is only shown."""
        return ["of_batch_in_words"]

    @admin.display(description="batch endpoint")
    def of_batch_in_words(self, limit: Limit) -> str:
        """Yes or no."""
        return "yes" if limit.of_batch else "no"


class ReservationInline(PolicyInline):
    """The classes' terms on the pool."""

    model = Reservation
    fields = [
        "workload_class",
        "share_percent",
        "lendable_percent",
        "headroom_percent",
        "ceiling_percent",
        "weight",
        "yields_above_percent",
        "except_limits",
    ]


@admin.register(Pool)
class PoolAdmin(PolicyAdmin):
    """The page where an allowance is split."""

    form = PoolForm
    inlines = [LimitInline, ReservationInline]
    switches = POOL_SWITCHES
    list_display = [
        "slug",
        "provider",
        "state",
        "limits_in_words",
        "shares_in_words",
        "provider_says",
    ]
    list_filter = ["provider", "mode", "paused"]
    search_fields = ["slug"]
    fieldsets = [
        (None, {"fields": ["slug", "provider", "untagged_class", "mode", "paused", "base_url"]}),
        (
            "Strategy by tier",
            {
                "fields": ["interactive_strategy", "near_line_strategy", "bulk_strategy"],
                "classes": ["collapse"],
            },
        ),
        (
            "Batch endpoint",
            {
                "fields": [
                    "batch",
                    "batch_max_requests",
                    "batch_max_bytes",
                    "batch_collect_seconds",
                    "batch_window_hours",
                ],
                "classes": ["collapse"],
            },
        ),
    ]

    def scope(self, pk: int) -> Scope:
        """The pool with all that belongs to it."""
        return scope_of_pool(pk)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Pool]:
        """With what the list says about limits, shares and the provider."""
        told = ProviderLimit.objects.filter(pool_id=OuterRef("pk")).values(
            json=JSONObject(unit="unit", amount="amount", per_seconds="per_seconds")
        )
        rows = super().get_queryset(request).annotate(told=ArraySubquery(told))
        return rows.prefetch_related("limits", "reservations__workload_class")

    def get_form(self, request: HttpRequest, obj: Any = None, *args: Any, **kwargs: Any) -> Any:
        """The form knows whether it stands alone, without limits and reservations."""
        form: Any = super().get_form(request, obj, *args, **kwargs)
        form.alone = not self.get_inline_instances(request, obj)
        return form

    def _create_formsets(self, request: HttpRequest, obj: Any, change: bool) -> Any:
        """Let the last formset see them all, to check the policy as a whole."""
        formsets, inlines = super()._create_formsets(request, obj, change)  # type: ignore[misc]
        for formset, inline in zip(formsets, inlines, strict=True):
            formset.editable = inline.has_change_permission(request, obj)
        if formsets:
            formsets[-1].page = formsets
        return formsets, inlines

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Add live and recent figures."""
        pool = context.get("original")
        if pool is not None and not context["errors"]:
            version = PolicyVersion.objects.filter(pool_id=pool.pk).first()
            stored = Pool.objects.select_related("untagged_class").get(pk=pool.pk)
            usages = recent_usage([stored])
            context |= {
                "stored": stored,
                "policy_version": version and version.version,
                "standings": standings(stored),
                "queues": queues_on(stored),
                "usages": usages,
                "observed": observed([stored], usages),
                "notes": endpoint_notes(stored_terms(stored)),
                "disagreements": disagreements(
                    stored, ProviderLimit.objects.filter(pool_id=stored.pk)
                ),
                "switch_links": self.switch_links(request, stored),
            }
        return super().render_change_form(request, context, *args, **kwargs)

    @admin.display(description="state")
    def state(self, pool: Pool) -> str:
        """Mode, or paused."""
        word = "paused" if pool.paused else pool.mode
        return format_html('<span class="budget-badge budget-{}">{}</span>', word, word)

    @admin.display(description="limits")
    def limits_in_words(self, pool: Pool) -> str:
        """`400,000 total tokens / 60 s`."""
        return " · ".join(_limit_in_words(limit) for limit in pool.limits.all()) or "none"

    @admin.display(description="provider says")
    def provider_says(self, pool: Pool) -> str:
        """Where its own limits differ from these."""
        told = [ProviderLimit(**said) for said in pool.told]  # type: ignore[attr-defined]
        found = disagreements(pool, told)
        if not found:
            return "–"
        words = "; ".join(f"{one.provider:,.0f} {one.unit} a minute" for one in found)
        return format_html('<span class="budget-badge budget-differs">{}</span>', words)

    @admin.display(description="shares")
    def shares_in_words(self, pool: Pool) -> str:
        """`adjuster 50 %`, largest first."""
        rows = sorted(pool.reservations.all(), key=lambda row: -row.share_percent)
        return (
            " · ".join(f"{row.workload_class} {written(row.share_percent, SHARE)}" for row in rows)
            or "none"
        )


def _limit_in_words(limit: Limit) -> str:
    amount = f"{limit.amount:,} {limit.get_unit_display()}"
    if limit.algorithm == "gauge":
        amount = f"{amount} at once"
    else:
        amount = f"{amount} / {limit.per_seconds} s"
    return f"batch: {amount}" if limit.of_batch else amount
