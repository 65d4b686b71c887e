"""What pool and class pages share: fixed slugs, edits that don't overwrite another, switches."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.core.validators import MinValueValidator
from django.db.models import IntegerField, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse

from budget.admin.reasoned import ReasonedAdmin
from budget.pages.audit import ReasonForm, audit
from budget.policy.history import fingerprint
from budget.policy.switches import ON_CALL, UNCHANGED, Switch

READ_AS = {name: f"{name}_in_words" for name in ("paused", "draining", "batch")}


def _in_words(field: str, label: str) -> Any:
    @admin.display(description=label)
    def words(self: "PolicyAdmin", row: Any) -> str:
        return "yes" if getattr(row, field) else "no"

    return words


class PolicyFields:
    """Form fields of policy rows, of an admin or an inline."""

    def formfield_for_dbfield(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        """Whole numbers with the bounds of their model; classes without links to their forms."""
        if isinstance(db_field, IntegerField):
            for bound in db_field.validators:
                if isinstance(bound, MinValueValidator):
                    kwargs["min_value"] = bound.limit_value
        field: Any = super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[misc]
        if field is not None:
            field.widget = getattr(field.widget, "widget", field.widget)
        return field


class PolicyAdmin(PolicyFields, ReasonedAdmin):
    """An admin of rows that pools or classes consist of."""

    switches: Mapping[str, Switch]
    show_full_result_count = False
    paused_in_words = _in_words("paused", "paused")
    draining_in_words = _in_words("draining", "draining")
    batch_in_words = _in_words("batch", "batch endpoint")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Slugs are fixed once created."""
        return ["slug", *super().get_readonly_fields(request, obj)] if obj else []

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Switches, for those who may turn them."""
        actions = super().get_actions(request)
        noun = self.opts.verbose_name_plural
        for verb, switch in self.switches.items():
            if self.may_turn(request, verb):
                actions[verb] = (_to_switch_page, verb, f"{switch.label} selected {noun}")
        return actions

    def may_turn(self, request: HttpRequest, verb: str) -> bool:
        """Whether the user may change rows, or at least pause them where that is enough."""
        pauses = f"{self.opts.app_label}.pause_{self.opts.model_name}"
        return self.has_change_permission(request) or (
            verb in ON_CALL and request.user.has_perm(pauses)
        )

    def get_urls(self) -> list[URLPattern]:
        """The switch page comes before the pages of rows."""
        page = self.admin_site.admin_view(self.switch_view)
        name = f"{self.opts.app_label}_{self.opts.model_name}_switch"
        return [path("switch/<slug:verb>/", page, name=name), *super().get_urls()]

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        """The row, with what its history ended with before it was read."""
        pk = unquote(object_id)
        seen = fingerprint(self.form.scope(int(pk))) if pk.isdecimal() else ""  # type: ignore[attr-defined]
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            row.seen = seen
        return row

    def switch_view(self, request: HttpRequest, verb: str) -> HttpResponse:
        """Ask why, then turn the switch for the rows named by `ids`."""
        switch = self.switches.get(verb)
        if switch is None:
            raise Http404
        if not self.may_turn(request, verb):
            raise PermissionDenied
        rows = self._chosen(request)
        form = ReasonForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            self._turn(request, switch, rows)
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

    def _turn(self, request: HttpRequest, switch: Switch, rows: QuerySet[Any]) -> None:
        with audit(request):
            done = switch.turn(rows)
        if done:
            self.message_user(request, done)
        else:
            self.message_user(request, UNCHANGED, messages.INFO)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        """Say so if nothing was changed."""
        if fingerprint(self.form.scope(obj.pk)) != obj.seen:  # type: ignore[attr-defined]
            return super().response_change(request, obj)
        words = f"Nothing was changed: {obj} is as it was before."
        self.message_user(request, words, messages.INFO)
        if "_continue" in request.POST:
            return HttpResponseRedirect(request.path)
        return self.response_post_save_change(request, obj)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """To those who may only look, running is no red cross."""
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or self.has_change_permission(request, obj):
            return fieldsets
        return [
            (
                title,
                options | {"fields": [READ_AS.get(str(name), name) for name in options["fields"]]},
            )
            for title, options in fieldsets
        ]

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

    def switch_links(self, request: HttpRequest, row: Any) -> list[tuple[str, str]]:
        """Label and address of what the user may turn and would change something about the row."""
        base = f"admin:{self.opts.app_label}_{self.opts.model_name}_switch"
        return [
            (switch.label, f"{reverse(base, args=[verb])}?ids={row.pk}")
            for verb, switch in self.switches.items()
            if switch.suits(row) and self.may_turn(request, verb)
        ]


def _to_switch_page(
    model_admin: PolicyAdmin, request: HttpRequest, queryset: QuerySet[Any]
) -> HttpResponse:
    verb = request.POST["action"]
    base = f"admin:{model_admin.opts.app_label}_{model_admin.opts.model_name}_switch"
    ids = ",".join(str(pk) for pk in queryset.values_list("pk", flat=True))
    return HttpResponseRedirect(f"{reverse(base, args=[verb])}?ids={ids}")
