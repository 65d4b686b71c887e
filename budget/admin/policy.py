"""What pool and class pages share: reasons, pausing, history, deletion."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse

from budget.admin.audit import ReasonForm, audit, given_reason
from budget.admin.timeline import timeline
from budget.policy.history import Scope


class Switch(NamedTuple):
    """Something an on-call engineer turns in one step."""

    label: str
    field: str
    value: Any
    effect: str


PAUSING = {
    "pause": Switch("Pause", "paused", True, "Every call is shed until it is resumed."),
    "resume": Switch("Resume", "paused", False, "Calls are decided by the policy again."),
}


class PolicyAdmin(admin.ModelAdmin):
    """An admin whose every edit is remembered with its author and reason."""

    change_form_template = "budget/admin/policy_form.html"
    delete_confirmation_template = "budget/admin/delete_confirmation.html"
    switches: Mapping[str, Switch] = PAUSING
    show_full_result_count = False
    save_on_top = False

    class Media:
        css = {"all": ["budget/admin.css"]}

    def scope(self, pk: int) -> Scope:
        """The part of the history that concerns a row."""
        raise NotImplementedError

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Slugs are fixed once created."""
        return ["slug", *super().get_readonly_fields(request, obj)] if obj else []

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Switches, for those who may change; deletion only one by one, with a reason."""
        actions: dict[str, Any] = super().get_actions(request)
        actions.pop("delete_selected", None)
        if self.has_change_permission(request):
            noun = self.opts.verbose_name_plural
            for verb, switch in self.switches.items():
                actions[verb] = (_to_switch_page, verb, f"{switch.label} selected {noun}")
        return actions

    def get_urls(self) -> list[URLPattern]:
        """The switch page comes before the pages of rows."""
        page = self.admin_site.admin_view(self.switch_view)
        name = f"{self.opts.app_label}_{self.opts.model_name}_switch"
        return [path("switch/<slug:verb>/", page, name=name), *super().get_urls()]

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Edit under the author's name."""
        with audit(request):
            return super().changeform_view(request, *args, **kwargs)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Delete, if the form says why."""
        if request.method == "POST" and not given_reason(request):
            messages.error(request, "Nothing was deleted. Say why, in a few words.")
            return HttpResponseRedirect(request.get_full_path())
        context = (extra_context or {}) | {"reason_form": ReasonForm()}
        with audit(request):
            return super().delete_view(request, object_id, context)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """One row at a time: each change has its own reason."""
        context["show_save_and_add_another"] = False
        return super().render_change_form(request, context, *args, **kwargs)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """The row's history as the database remembers it, not as the admin logged it."""
        row = self.get_object(request, object_id)
        if row is None:
            raise Http404
        if not self.has_view_or_change_permission(request, row):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            **timeline(request, self.scope(row.pk)),
            "title": f"History of {self.opts.verbose_name} {row}",
            "opts": self.opts,
            "object": row,
        }
        return render(request, "budget/admin/history.html", context)

    def switch_view(self, request: HttpRequest, verb: str) -> HttpResponse:
        """Ask why, then turn the switch for the rows named by `ids`."""
        switch = self.switches.get(verb)
        if switch is None:
            raise Http404
        if not self.has_change_permission(request):
            raise PermissionDenied
        rows = self._chosen(request)
        form = ReasonForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            names = ", ".join(str(row) for row in rows)
            with audit(request):
                rows.update(**{switch.field: switch.value})
            self.message_user(request, f"{switch.label}: {names}. {switch.effect}")
            return HttpResponseRedirect(self._back(rows))
        context = {
            **self.admin_site.each_context(request),
            "title": f"{switch.label} {self.opts.verbose_name_plural}",
            "opts": self.opts,
            "switch": switch,
            "rows": rows,
            "form": form,
            "back": self._back(rows),
        }
        return render(request, "budget/admin/switch.html", context)

    def _chosen(self, request: HttpRequest) -> QuerySet[Any]:
        ids = [part for part in request.GET.get("ids", "").split(",") if part.isdecimal()]
        rows = self.get_queryset(request).filter(pk__in=ids[:1000])
        if not rows:
            raise Http404
        return rows

    def _back(self, rows: QuerySet[Any]) -> str:
        base = f"admin:{self.opts.app_label}_{self.opts.model_name}"
        if len(rows) == 1:
            return reverse(f"{base}_change", args=[rows[0].pk])
        return reverse(f"{base}_changelist")

    def switch_links(self, row: Any) -> list[tuple[str, str]]:
        """Label and address of the switches that would change something about the row."""
        base = f"admin:{self.opts.app_label}_{self.opts.model_name}_switch"
        return [
            (switch.label, f"{reverse(base, args=[verb])}?ids={row.pk}")
            for verb, switch in self.switches.items()
            if getattr(row, switch.field) != switch.value
        ]


def _to_switch_page(
    model_admin: PolicyAdmin, request: HttpRequest, queryset: QuerySet[Any]
) -> HttpResponse:
    verb = request.POST["action"]
    base = f"admin:{model_admin.opts.app_label}_{model_admin.opts.model_name}_switch"
    ids = ",".join(str(pk) for pk in queryset.values_list("pk", flat=True))
    return HttpResponseRedirect(f"{reverse(base, args=[verb])}?ids={ids}")
