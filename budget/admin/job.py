"""Jobs: what waits, what ran, what became of it, and the button that cancels."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, NamedTuple
from uuid import UUID

import msgspec
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.defaultfilters import pluralize
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.text import Truncator

from budget import services
from budget.admin.lists import PoolFilter, QueuedClassFilter, ReadOnlyAdmin
from budget.jobs.words import span
from budget.ledger.errors import BudgetError
from budget.models import Call, Job
from budget.pages.audit import CancelForm, given_reason
from budget.pages.call import told
from budget.policy.audit import signed

MOST_AT_ONCE = 100
TOO_MANY = (
    f"Select at most {MOST_AT_ONCE} jobs. `manage.py jobs cancel CLASS` cancels all that wait "
    "in a class."
)
MOST_SHOWN = 100_000
"""Characters of arguments or a result."""
MOST_LISTED = 120
"""Characters of an error in the list."""

EVENTS: Mapping[str, str] = {
    "started": "Started",
    "collected": "Collected for the batch endpoint",
    "runs_alone": "Too large for the batch endpoint",
    "refused": "Not admitted yet",
    "sent_away": "Sent away by the provider",
    "lease_expired": "Its lease was over",
    "failed": "Failed",
    "succeeded": "Succeeded",
    "expired": "Expired",
    "cancelled": "Cancelled",
    "asked_again": "Asked for again",
}
CAN_END = (Job.State.QUEUED, Job.State.RUNNING)


class Step(NamedTuple):
    """An entry of a job's trail, in words."""

    at: datetime
    after: str
    """How long after the entry before."""
    event: str
    detail: str


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    """Newest first; the id is made of the time, so its index serves the order."""

    change_form_template = "budget/admin/job.html"
    actions = ["cancel_selected"]
    ordering = ["-id"]
    sortable_by: ClassVar[list[str]] = []
    list_display = [
        "enqueued",
        "state_badge",
        "pool",
        "workload_class",
        "caller",
        "attempts",
        "due",
        "why",
    ]
    list_filter = [PoolFilter, QueuedClassFilter, "state", "enqueued_at"]
    search_fields = ["task", "source"]
    search_help_text = "Part of the task or the source, or a whole job id."

    def get_urls(self) -> list[URLPattern]:
        """The page that cancels comes before the pages of rows."""
        page = self.admin_site.admin_view(self.cancel_view)
        return [path("cancel/", page, name="budget_job_cancel"), *super().get_urls()]

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        """Nobody edits a job; the right to change one is the right to cancel it."""
        return request.user.has_perm("budget.change_job")

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The job in full."""
        job = object_id and self.get_object(request, object_id)
        context = self._told(request, job) if job else {}
        return super().changeform_view(
            request, object_id, form_url, (extra_context or {}) | context
        )

    def _told(self, request: HttpRequest, job: Job) -> dict[str, Any]:
        may_cancel = job.state in CAN_END and self.has_cancel_permission(request)
        return {
            "job": job,
            "steps": steps(job),
            "args": pretty(job.args),
            "result": None if job.result is None else pretty(job.result),
            "calls": [told(call) for call in Call.objects.filter(job_id=job.pk).order_by("id")],
            "cancel_url": _cancel_url([job.pk]) if may_cancel else "",
        }

    @admin.action(description="Cancel selected jobs", permissions=["cancel"])
    def cancel_selected(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        """Ask why."""
        ids = list(queryset.values_list("pk", flat=True)[: MOST_AT_ONCE + 1])
        if len(ids) > MOST_AT_ONCE:
            self.message_user(request, TOO_MANY, messages.ERROR)
            return None
        return HttpResponseRedirect(_cancel_url(ids))

    def cancel_view(self, request: HttpRequest) -> HttpResponse:
        """Ask why, then cancel the jobs named by `ids`."""
        if not self.has_cancel_permission(request):
            raise PermissionDenied
        jobs = self._chosen(request)
        live = [job for job in jobs if job.state in CAN_END]
        back = reverse("admin:budget_job_changelist")
        if len(jobs) == 1:
            back = reverse("admin:budget_job_change", args=[jobs[0].pk])
        if not live:
            self.message_user(request, "Nothing to cancel: all has ended.", messages.WARNING)
            return HttpResponseRedirect(back)
        form = CancelForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            self._cancel(request, live)
            return HttpResponseRedirect(back)
        context = {
            **self.admin_site.each_context(request),
            "title": "Cancel jobs",
            "opts": self.opts,
            "jobs": live,
            "ended": len(jobs) - len(live),
            "form": form,
            "back": back,
        }
        return render(request, "budget/admin/job_cancel.html", context)

    def _chosen(self, request: HttpRequest) -> list[Job]:
        try:
            ids = [UUID(part) for part in request.GET.get("ids", "").split(",")[:MOST_AT_ONCE]]
        except ValueError:
            raise Http404 from None
        jobs = list(self.get_queryset(request).filter(pk__in=ids).order_by("pk"))
        if not jobs:
            raise Http404
        return jobs

    def _cancel(self, request: HttpRequest, jobs: list[Job]) -> None:
        """Cancel each, and log it under the user's name with the reason."""
        cancelled, reason = 0, given_reason(request)
        for job in jobs:
            try:
                services.cancel_job(job.pk, reason=signed(reason, request.user.get_username()))
            except BudgetError as error:
                self.message_user(request, f"{job}: {error}", messages.WARNING)
                continue
            self.log_change(request, job, f"Cancelled: {reason}")
            cancelled += 1
        if cancelled:
            words = f"Cancelled {cancelled} job{pluralize(cancelled)}."
            self.message_user(request, words, messages.SUCCESS)

    @admin.display(description="enqueued (UTC)")
    def enqueued(self, job: Job) -> str:
        """To the second."""
        return f"{job.enqueued_at:%Y-%m-%d %H:%M:%S}"

    @admin.display(description="deadline (UTC)")
    def due(self, job: Job) -> str:
        """To the second."""
        return f"{job.deadline:%Y-%m-%d %H:%M:%S}"

    @admin.display(description="state")
    def state_badge(self, job: Job) -> str:
        """In words."""
        return format_html(
            '<span class="budget-badge budget-{}">{}</span>', job.state, job.get_state_display()
        )

    @admin.display(description="source")
    def caller(self, job: Job) -> str:
        """Where it comes from, or what it runs if nobody says."""
        return job.source or job.task

    @admin.display(description="why")
    def why(self, job: Job) -> str:
        """Why it ended as it did, or its last attempt did."""
        return Truncator(job.error).chars(MOST_LISTED) or "–"


def steps(job: Job) -> list[Step]:
    """A job's trail in words, oldest first."""
    told = []
    before = job.enqueued_at
    for entry in job.trail:
        at = datetime.fromisoformat(entry["at"])
        after = span(max(0.0, (at - before).total_seconds()))
        told.append(Step(at, after, EVENTS.get(entry["event"], entry["event"]), entry["detail"]))
        before = at
    return told


def pretty(text: str) -> str:
    """JSON text, indented; cut where it is endless."""
    try:
        shown = msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, RecursionError):
        shown = text
    if len(shown) <= MOST_SHOWN:
        return shown
    return f"{shown[:MOST_SHOWN]}\n… and {len(shown) - MOST_SHOWN:,} characters more"


def _cancel_url(ids: list[UUID]) -> str:
    return f"{reverse('admin:budget_job_cancel')}?ids={','.join(map(str, ids))}"
