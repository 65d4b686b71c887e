"""One call explained: why it was shed, by which numbers, and what became of it."""

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse

from budget.dashboard.access import SEE_CALLS, SEE_TERMS, may_open_jobs, needs
from budget.dashboard.addresses import pool_address, sheds_address
from budget.dashboard.marks import SEE_HISTORY
from budget.dashboard.reasons import in_words
from budget.dashboard.sheds.filters import Filters
from budget.dashboard.sheds.grouping import Grouping
from budget.dashboard.sheds.queries import EARLIER, MOMENT, in_order_of_time
from budget.dashboard.sheds.question import Question
from budget.dashboard.span import span_between
from budget.dashboard.switches import switching
from budget.ledger.clock import micros, moment
from budget.ledger.ids import made_at
from budget.models import Call, Job, Pool, WorkloadClass
from budget.pages.call import in_time, told, verdicts
from budget.pages.limits import limit_in_words, limits_named
from budget.pages.places import bounds, is_refused_place
from budget.pages.remedies import remedies
from budget.pages.revision import Revision, revision_of, terms_in_words
from budget.policy.history import change_keys, scope_of_pool
from budget.policy.rows import WORKLOAD_CLASS

MOST_DECISIONS = 20
AROUND = timedelta(minutes=30)
"""How much of the time before and after a call its links to sheds show."""
SKEW = timedelta(minutes=1)
"""By how much the clocks that ids are made by may run ahead of the database's."""


class Decided(NamedTuple):
    """One of several decisions on a call."""

    id: UUID
    at: datetime
    words: str


@needs(SEE_CALLS)
def call_page(request: HttpRequest, call_id: UUID) -> HttpResponse:
    """A call in words and numbers."""
    call = get_object_or_404(Call, pk=call_id)
    pool = Pool.objects.filter(pk=call.pool_id).first()
    revision = revision_of(call)
    member = revision.member(call.workload_class)
    context = {
        "call": call,
        "pool": pool,
        "shed": call.state == Call.State.SHED,
        "refused_place": is_refused_place(call),
        "reason": in_words(call.reason),
        "retry_after": None if call.retry_after_ms is None else in_time(call.retry_after_ms),
        "told": told(call),
        "limit": call.limit and limit_in_words(call.limit, revision.periods, call.of_batch),
        "detail": limits_named(call.detail, revision.periods),
        "bounds": bounds(call),
        "verdicts": verdicts(call, revision.periods),
        "remedies": remedies(call, revision),
        "revision": revision,
        "terms": terms_in_words(member) if member and request.user.has_perm(SEE_TERMS) else [],
        "change_address": change_address(request, call, revision),
        "decisions": decisions(call),
        "job_address": job_address(request, call),
        **addresses(call, pool),
        **switching(request, class_of(call), named=True),
    }
    return render(request, "budget/dashboard/call/page.html", context)


def class_of(call: Call) -> WorkloadClass | None:
    """The class as it is now, if it still is."""
    return WorkloadClass.objects.filter(slug=call.workload_class).first()


def addresses(call: Call, pool: Pool | None) -> dict[str, str]:
    """Where a call's pool stands at that time, its sheds, and those of the same source."""
    if pool is None:
        return {}
    around = span_between(call.offered_at - AROUND, call.offered_at + AROUND)
    same = Question(around, Filters(source=call.source), Grouping())
    return {
        "pool_address": pool_address(pool, around.query),
        "sheds_address": sheds_address(pool, around.query),
        "same_source": sheds_address(pool, same.query),
    }


def change_address(request: HttpRequest, call: Call, revision: Revision) -> str:
    """The change that made the policy version; empty to those who may not see it there.

    It is the last one that began before the version was there, and concerned the pool.
    """
    may_see = request.user.is_staff and request.user.has_perm(SEE_HISTORY)
    if revision.since is None or not may_see:
        return ""
    scope = {**scope_of_pool(call.pool_id), WORKLOAD_CLASS: Q()}
    before = Q(pgh_created_at__lte=revision.since)
    keys = change_keys({kind: condition & before for kind, condition in scope.items()})
    return next(
        (
            reverse(
                "admin:budget_policyhistory_entry",
                args=[key["transaction"], micros(key["pgh_created_at"])],
            )
            for key in keys[:1]
        ),
        "",
    )


def decisions(call: Call) -> list[Decided]:
    """Every decision on the call, newest first, if there were several.

    The newest stands under the id that all of them share, earlier ones were given others.
    """
    shared = call.retried_as or call.id
    newest = call if shared == call.id else Call.objects.filter(pk=shared).first()
    if not call.fingerprint:
        # Without an idempotency key nothing comes back.
        return []
    bounds = {
        "pool": call.pool_id,
        "since": moment(made_at(shared)) - SKEW,
        "until": newest.offered_at if newest else call.offered_at + MOMENT,
        "id": shared,
        "most": MOST_DECISIONS,
    }
    with in_order_of_time():
        earlier = list(Call.objects.raw(EARLIER, bounds))
    found = [newest, *earlier] if newest else earlier
    return [Decided(row.id, row.offered_at, _outcome(row)) for row in found if len(found) > 1]


def _outcome(call: Call) -> str:
    reason = in_words(call.reason)
    if call.state == Call.State.SHED:
        return f"shed, {reason}"
    ended = told(call).outcome or call.get_state_display()
    return f"admitted, {ended}" + (f", would have been shed, {reason}" if reason else "")


def job_address(request: HttpRequest, call: Call) -> str:
    """The admin's page of its job, if there is one and the user may see it there."""
    if call.job_id is None or not may_open_jobs(request):
        return ""
    if not Job.objects.filter(pk=call.job_id).exists():
        return ""
    return reverse("admin:budget_job_change", args=[call.job_id])
