"""Policy history: every change to any policy table, and undoing one."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse

from budget.admin.timeline import may_revert, tell, timeline, visible
from budget.ledger.clock import moment
from budget.models import PolicyHistory
from budget.pages.audit import ReasonForm, audit
from budget.policy.history import Change, Scope, changes
from budget.policy.revert import RevertError, plan, refuse_forbidden, revert, told


@admin.register(PolicyHistory)
class PolicyHistoryAdmin(admin.ModelAdmin):
    """A page with all changes, one for each of them, and one that undoes it."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only edits make history."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """It can't be rewritten."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nor deleted."""
        return False

    def get_urls(self) -> list[URLPattern]:
        """The list of changes, the page of one, and that which undoes it; rows have no pages."""
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name="budget_policyhistory_changelist"),
            path(
                "<int:transaction>-<int:at>/",
                view(self.entry_view),
                name="budget_policyhistory_entry",
            ),
            path(
                "<int:transaction>-<int:at>/revert/",
                view(self.revert_view),
                name="budget_policyhistory_revert",
            ),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """All changes, newest first."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            **timeline(request, visible(request)),
            "title": "Policy history",
            "opts": self.opts,
        }
        return render(request, "budget/admin/history.html", context)

    def entry_view(self, request: HttpRequest, transaction: int, at: int) -> HttpResponse:
        """One change, by its transaction and moment, in microseconds since the epoch."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        change = _change(transaction, at, visible(request))
        context = {
            **self.admin_site.each_context(request),
            "title": "A change",
            "opts": self.opts,
            "told": next(iter(tell([change]))),
            "may_revert": may_revert(request),
        }
        return render(request, "budget/admin/entry.html", context)

    def revert_view(self, request: HttpRequest, transaction: int, at: int) -> HttpResponse:
        """Show what undoing a change would do, ask why, and do it."""
        if not may_revert(request):
            raise PermissionDenied
        change = _change(transaction, at, visible(request))
        if not change.revertible:
            raise Http404
        form = ReasonForm(request.POST or None)
        report: list[str] = []
        faults: list[str] = []
        try:
            if request.method == "POST" and form.is_valid():
                return self._reverted(request, change)
            report = _preview(request, change)
        except RevertError as error:
            faults = error.messages
        context = {
            **self.admin_site.each_context(request),
            "title": "Revert a change",
            "opts": self.opts,
            "told": next(iter(tell([change]))),
            "report": report,
            "faults": faults,
            "form": form,
        }
        return render(request, "budget/admin/revert.html", context)

    def _reverted(self, request: HttpRequest, change: Change) -> HttpResponse:
        with audit(request):
            done = revert(change, request.user.has_perms)
        messages.success(request, f"Reverted: {'; '.join(done) or 'nothing was left to do'}.")
        return HttpResponseRedirect(reverse("admin:budget_policyhistory_changelist"))


def _change(transaction: int, at: int, scope: Scope) -> Change:
    try:
        key = {"pgh_created_at": moment(at), "transaction": transaction}
    except OverflowError:
        raise Http404 from None
    found = changes([key], scope)
    if not found:
        raise Http404
    return found[0]


def _preview(request: HttpRequest, change: Change) -> list[str]:
    """What the undo would do, in words. Raises `RevertError` if it plainly can't be done."""
    steps = plan(change)
    refuse_forbidden(steps, request.user.has_perms)
    return told(steps)
