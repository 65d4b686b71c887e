"""Editing with a reason: what all admins share whose edits the history remembers."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.text import capfirst

from budget.admin.timeline import timeline
from budget.models import ApiKey
from budget.pages.audit import ReasonForm, audit, given_reason
from budget.policy.history import Scope

RIGHT = capfirst(str(ApiKey.pools.through._meta.verbose_name))


class ReasonedAdmin(admin.ModelAdmin):
    """Remembers every edit with its author and reason. Its form has a field `reason`."""

    change_form_template = "budget/admin/policy_form.html"
    delete_confirmation_template = "budget/admin/delete_confirmation.html"
    save_on_top = False

    class Media:
        css = {"all": ["budget/admin.css"]}

    def scope(self, pk: Any) -> Scope:
        """The part of the history that concerns a row."""
        raise NotImplementedError

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Rows are deleted one by one, with a reason."""
        actions: dict[str, Any] = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

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

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Which API keys lose a right is told to those who may see keys; others see how many."""
        lines, *counts = super().get_deleted_objects(objs, request)
        if not request.user.has_perm("budget.view_apikey"):
            lines = _without_keys(lines)
        return lines, *counts

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


def _without_keys(lines: list[Any]) -> list[Any]:
    """Nested lines of what will be deleted, but for the rights of API keys."""
    kept = [_without_keys(line) if isinstance(line, list) else line for line in lines]
    return [line for line in kept if not str(line).startswith(RIGHT)]
