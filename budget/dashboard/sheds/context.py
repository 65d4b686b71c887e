"""What the template of sheds needs."""

from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from budget import services
from budget.dashboard.access import may_open_jobs
from budget.dashboard.addresses import pool_address
from budget.dashboard.lineup import NO_CLASS, UNTAGGED
from budget.dashboard.reasons import in_words
from budget.dashboard.sheds.counts import Counts, InAll, counts
from budget.dashboard.sheds.entries import Place, page_of
from budget.dashboard.sheds.filters import DECISIONS, IN_PROCESS
from budget.dashboard.sheds.grouping import GROUPINGS, Grouping
from budget.dashboard.sheds.groups import Groups, groups
from budget.dashboard.sheds.queries import LOOKED_AT, Window, in_order_of_time, where, window_of
from budget.dashboard.sheds.question import Question
from budget.dashboard.sheds.timeline import Timeline, timeline
from budget.dashboard.span import RANGES
from budget.dashboard.switches import switching
from budget.dashboard.units import in_a_step
from budget.models import Call, Pool, WorkloadClass
from budget.pages.call import in_time
from budget.pages.limits import Periods, limit_in_words, periods_of
from budget.rule.decision import REASONS

RANGES_HERE = {name: label for name, (label, _) in RANGES.items() if name != "live"}
"""The page doesn't move on by itself."""
MOST_TAGS = 4
"""Tags of an entry in the list; its own page has all."""


class Choice(NamedTuple):
    """One of several, to be followed or picked."""

    words: str
    value: str
    chosen: bool


class Entry(NamedTuple):
    """A call in the list."""

    call: Call
    reason: str
    limit: str
    """In words; empty if it isn't one that refused it."""
    job: str
    """What to say of the job it belongs to, if it does."""
    job_address: str

    @property
    def shed(self) -> bool:
        """Whether it was shed, and not admitted by a pool that observes."""
        return self.call.state == Call.State.SHED

    @property
    def tokens(self) -> int:
        """The estimate."""
        return self.call.input_tokens + self.call.output_tokens

    @property
    def tags(self) -> list[tuple[str, str]]:
        """The first few, by name."""
        return sorted(self.call.tags.items())[:MOST_TAGS]

    @property
    def more_tags(self) -> int:
        """How many more there are."""
        return max(0, len(self.call.tags) - MOST_TAGS)

    @property
    def retry_after(self) -> str:
        """When it was told to come back."""
        wait = self.call.retry_after_ms
        return "–" if wait is None else in_time(wait)

    @property
    def offered_again(self) -> bool:
        """Whether a newer decision on the same call stands elsewhere."""
        return self.call.retried_as not in (None, self.call.id)


def context_of(
    request: HttpRequest, pool: Pool, question: Question, place: Place | None
) -> dict[str, Any]:
    """Everything the page shows."""
    span, filters = question.span, question.filters
    history = services.usage_history(pool.slug, span.start, span.end, span.step)
    counted = counts(question, history)
    with in_order_of_time() as cursor:
        window = window_of(cursor, pool.pk, question)
        condition = where(window, filters)
        over_time = timeline(cursor, question, window, condition)
        grouped = groups(cursor, question, condition, over_time.found)
        page = page_of(window, filters, place)
    may_see_jobs = may_open_jobs(request)
    return {
        "pool": pool,
        "pool_address": pool_address(pool, span.query),
        "question": question,
        "fixed": question.fixed.query,
        "key": IN_PROCESS if filters.key == "" else filters.key or "",
        "span": span,
        "ranges": RANGES_HERE,
        "kept": question.rest,
        "kept_fields": kept_fields(question),
        "filters": [
            (part.words, question._replace(filters=part.without).query) for part in filters.parts
        ],
        "cleared": question._replace(filters=type(filters)()).query,
        "choices": choices(question, counted, history.classes),
        "groupings": groupings(question),
        "window": window,
        "looked_at": LOOKED_AT,
        "earlier": question.fixed._replace(until=window.since).query,
        "newest": question._replace(until=None).query,
        "timeline": over_time,
        "step": in_a_step(span.step),
        "groups": grouped,
        "counts": counted,
        "in_all": in_all(question, window, over_time, counted),
        "pruned": everything(question, window) and over_time.found < counted.sheds,
        "entries": entries(pool, page.calls, may_see_jobs),
        "first_page": place is None,
        "older": page.next and f"{question.fixed.query}&{urlencode({'before': page.next})}",
        "jobs_address": expired_jobs(pool, question) if may_see_jobs else "",
        **switching(request, concerned(question, grouped), named=True),
    }


def concerned(question: Question, grouped: Groups) -> WorkloadClass | None:
    """The class that all sheds shown are of, if they are of one that still is."""
    slug = question.filters.workload_class or grouped.only_class
    return WorkloadClass.objects.filter(slug=slug).first() if slug else None


def everything(question: Question, window: Window) -> bool:
    """Whether the page looks at every shed of its time."""
    return window.whole and question.until is None and not question.filters.parts


def in_all(question: Question, window: Window, found: Timeline, counted: Counts) -> InAll:
    """By what was found, if that is all: more may have come since the usage was read."""
    if everything(question, window) and found.found >= counted.sheds:
        return InAll(found.shed, found.found - found.shed, max(found.found, counted.offered))
    return InAll(counted.shed, counted.would_be, counted.offered)


def groupings(question: Question) -> list[Choice]:
    """Ways to group, those by the values of a tag that is asked for included."""
    tags = dict.fromkeys(tag.name for tag in question.filters.tags if tag.value is None)
    ways = [Grouping(by) for by in GROUPINGS] + [Grouping("tag", name) for name in tags]
    if question.grouping not in ways:
        ways.append(question.grouping)
    return [
        Choice(way.heading, question._replace(grouping=way).query, way == question.grouping)
        for way in ways
    ]


def choices(question: Question, counted: Counts, classes: Iterable[str]) -> dict[str, list[Choice]]:
    """What the fields of the form offer."""
    filters = question.filters
    slugs = [*WorkloadClass.objects.values_list("slug", flat=True)]
    slugs += sorted({slug for slug in classes if slug} - {*slugs})
    if filters.workload_class and filters.workload_class not in slugs:
        slugs.append(filters.workload_class)
    observed = counted.would_be or filters.decision
    return {
        "class": [
            *(Choice(slug, slug, filters.workload_class == slug) for slug in slugs),
            Choice(UNTAGGED, NO_CLASS, filters.workload_class == ""),
        ],
        "reason": [Choice(in_words(name), name, filters.reason == name) for name in REASONS],
        "decision": [
            Choice(words, name, filters.decision == name)
            for name, words in DECISIONS.items()
            if observed
        ],
    }


def kept_fields(question: Question) -> list[tuple[str, str]]:
    """What the form says besides its fields: the time, filters without a field, the grouping."""
    shown = {"class", "reason", "decision", "source_part", "key"}
    rest = [pair for pair in question.rest if pair[0] not in shown]
    return [*question.time, *rest]


def entries(pool: Pool, calls: Iterable[Call], may_see_jobs: bool) -> list[Entry]:
    """Calls as the list has them, their limits named by the policy of today."""
    limits = list(pool.limits.all())
    periods = {
        of_batch: periods_of(row for row in limits if row.of_batch is of_batch)
        for of_batch in (False, True)
    }
    return [entry(call, may_see_jobs, periods[call.of_batch]) for call in calls]


def entry(call: Call, may_see_jobs: bool, periods: Periods) -> Entry:
    """A call as the list has it. One that was refused a place in a queue never became a job."""
    job = address = ""
    if call.job_id is not None:
        job = "job, got no place" if call.state == Call.State.SHED else "attempt of a job"
        if may_see_jobs and call.state != Call.State.SHED:
            address = reverse("admin:budget_job_change", args=[call.job_id])
    limit = call.limit and limit_in_words(call.limit, periods, call.of_batch)
    return Entry(call, in_words(call.reason), limit, job, address)


def expired_jobs(pool: Pool, question: Question) -> str:
    """The admin's list of expired jobs."""
    query = {"pool_id": pool.pk, "state__exact": "expired"}
    if question.filters.workload_class:
        query["workload_class"] = question.filters.workload_class
    return f"{reverse('admin:budget_job_changelist')}?{urlencode(query)}"
