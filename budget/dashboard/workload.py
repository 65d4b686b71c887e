"""The page of a class on a pool: what became of its calls, its tokens, its floor, its queue."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from budget.dashboard.access import SEE_TERMS, SEE_USAGE, needs
from budget.dashboard.board import board_of
from budget.dashboard.context import context_of
from budget.dashboard.lineup import Member, slug_of
from budget.dashboard.policy_rows import policy_rows
from budget.dashboard.span import span_of
from budget.dashboard.switches import switching
from budget.jobs import words
from budget.models import WorkloadClass
from budget.policy.words import RESERVATION, written

SEE_CLASS = "budget.view_workloadclass"


@needs(SEE_USAGE)
def class_page(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """One class on a pool, in the time that the address names."""
    policy = policy_rows(slug)
    own = slug_of(policy, name)
    board = board_of(policy, span_of(request.GET), own)
    member = board.rows[0].member
    context = {
        **context_of(request, policy.pool, board, own),
        "member": member,
        "terms": terms_of(member) if request.user.has_perm(SEE_TERMS) else [],
        "admin_address": _form(request, member.row),
        **switching(request, member.row),
    }
    return render(request, "budget/dashboard/workload.html", context)


def terms_of(member: Member) -> list[tuple[str, str]]:
    """Its terms in words: those of the class, of its queue, and of its reservation."""
    row, reservation = member.row, member.reservation
    if row is None:
        return []
    of_class = [
        ("tier", row.get_tier_display()),
        ("deadline", words.span(row.deadline_seconds)),
        ("largest call", f"{row.max_call_tokens:,} tokens, {words.span(row.max_call_seconds)}"),
    ]
    of_queue = [
        ("may wait", words.bounds(row.queue_limit, row.queue_tokens)),
        ("attempts", f"{row.max_attempts:,}"),
    ]
    if reservation is None:
        of_pool = [("reservation", "none on this pool: no floor, and all defaults of its tier")]
    else:
        told = RESERVATION.items()
        of_pool = [(w.label, written(getattr(reservation, name), w)) for name, w in told]
    return of_class + (of_queue if member.queued else []) + of_pool


def _form(request: HttpRequest, row: WorkloadClass | None) -> str:
    """Where the class is edited, or looked at; empty for those who may not enter."""
    if row is None or not (request.user.is_staff and request.user.has_perm(SEE_CLASS)):
        return ""
    return reverse("admin:budget_workloadclass_change", args=[row.pk])
