"""Calls: every decision with its arithmetic, and what became of it."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html

from budget.admin.lists import ClassFilter, PoolFilter, ReadOnlyAdmin, ReasonFilter
from budget.models import Call
from budget.pages.call import GIVEN_BACK, told, verdicts
from budget.pages.limits import limit_in_words, limits_named
from budget.pages.places import bounds
from budget.pages.revision import revision_of


@admin.register(Call)
class CallAdmin(ReadOnlyAdmin):
    """Newest first; the id is made of the time, so its index serves the order."""

    change_form_template = "budget/admin/call.html"
    ordering = ["-id"]
    sortable_by: ClassVar[list[str]] = []
    list_display = [
        "offered",
        "decision",
        "pool",
        "workload_class",
        "estimate",
        "used",
        "source",
    ]
    list_filter = [PoolFilter, ClassFilter, "state", ReasonFilter]
    search_fields = ["source"]
    search_help_text = "Part of the source, or a whole call id."

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The call in full."""
        call = object_id and self.get_object(request, object_id)
        context = _in_words(call) if call else {}
        return super().changeform_view(
            request, object_id, form_url, (extra_context or {}) | context
        )

    @admin.display(description="offered (UTC)")
    def offered(self, call: Call) -> str:
        """To the second."""
        return f"{call.offered_at:%Y-%m-%d %H:%M:%S}"

    @admin.display(description="decision")
    def decision(self, call: Call) -> str:
        """Shed, or how far the call is; and the reason it was or would have been shed for."""
        shown = told(call)
        would_be = "would be " if call.reason and call.state != Call.State.SHED else ""
        return format_html(
            '<span class="budget-badge budget-{}">{}</span> {}',
            shown.badge,
            shown.outcome or call.get_state_display(),
            would_be + call.reason.replace("_", " "),
        )

    @admin.display(description="estimate")
    def estimate(self, call: Call) -> str:
        """Input + output tokens."""
        return f"{call.input_tokens:,} + {call.output_tokens:,}"

    @admin.display(description="used")
    def used(self, call: Call) -> str:
        """Input + output tokens, once settled."""
        taken, given, _ = told(call).used
        return taken if taken == given in ("–", GIVEN_BACK) else f"{taken} + {given}"


def _in_words(call: Call) -> dict[str, Any]:
    """What the page says, limits named by the policy that decided."""
    periods = revision_of(call).periods
    return {
        "told": told(call),
        "reason": call.reason.replace("_", " "),
        "limit": call.limit and limit_in_words(call.limit, periods, call.of_batch),
        "detail": limits_named(call.detail, periods),
        "bounds": bounds(call),
        "verdicts": verdicts(call, periods),
    }
