"""What pages of sheds look at, and how the database finds it."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.test import Client
from django.urls import reverse

from budget.dashboard.sheds import context, queries
from budget.dashboard.sheds.entries import page_of
from budget.dashboard.sheds.filters import Filters, Tag
from budget.dashboard.sheds.grouping import Grouping
from budget.dashboard.sheds.groups import groups
from budget.dashboard.sheds.queries import LOOKED_AT, in_order_of_time, where, window_of
from budget.dashboard.sheds.question import Question
from budget.dashboard.sheds.timeline import timeline
from budget.dashboard.span import span_between
from budget.ledger.clock import micros
from budget.models import Pool
from tests.dashboard.shedding import store_many
from tests.policies import claims_pool

END = datetime(2026, 1, 31, 12, tzinfo=UTC)
MONTH = timedelta(days=30)
SPAN = span_between(END - MONTH, END)
TOO_MANY = 10_000

pytestmark = pytest.mark.usefixtures("committed")


@pytest.fixture
def busy(committed: None) -> Pool:
    """A pool with more sheds than a page looks at."""
    pool = claims_pool()
    store_many(pool, END, MONTH, LOOKED_AT + TOO_MANY)
    return pool


def plans(cursor: CursorWrapper, statements: list[tuple[str, Any]]) -> Iterator[str]:
    """How the database would go about each."""
    for sql, params in statements:
        cursor.execute(f"EXPLAIN {sql}", params)
        yield "\n".join(line for (line,) in cursor.fetchall())


def test_a_page_looks_at_the_newest_and_says_so(viewer: Client, busy: Pool) -> None:
    address = reverse("budget:sheds", args=["claims"])
    page = viewer.get(f"{address}?{SPAN.query}")
    assert page.context["timeline"].found == LOOKED_AT
    assert not page.context["window"].whole
    text = page.content.decode()
    (note,) = re.findall(r"This page looks at [^<]*", text)
    assert note == "This page looks at the newest 50,000 sheds in this time, those since "
    assert 'class="not-looked-at"' in text
    before = viewer.get(f"{address}?{page.context['earlier']}")
    assert before.context["timeline"].found == TOO_MANY
    assert before.context["window"].whole


@pytest.mark.parametrize("span", [MONTH, timedelta(milliseconds=400)])
def test_those_before_follow_without_overlap_until_all_were_looked_at(
    viewer: Client, claims: Pool, monkeypatch: pytest.MonkeyPatch, span: timedelta
) -> None:
    """Also where more than a page looks at were shed in one step, or in one second."""
    for module in (queries, context):
        monkeypatch.setattr(module, "LOOKED_AT", 10)
    store_many(claims, END, span, 25)
    address = reverse("budget:sheds", args=["claims"])
    query, pages, windows = SPAN.query, [], []
    while query and len(pages) < 5:
        page = viewer.get(f"{address}?{query}&group=reason")
        pages.append([entry.call.pk for entry in page.context["entries"]])
        windows.append(page.context["window"])
        assert page.context["timeline"].found == len(pages[-1])
        query = "" if windows[-1].whole else page.context["earlier"]
    assert [len(page) for page in pages] == [10, 10, 5]
    assert len({pk for page in pages for pk in page}) == 25
    assert all(later.since == earlier.until for later, earlier in pairwise(windows))
    text = page.content.decode()
    assert "This page looks at the oldest" in text
    assert "Look at those before" not in text
    newest = viewer.get(f"{address}?{page.context['newest']}")
    assert [entry.call.pk for entry in newest.context["entries"]] == pages[0]


def test_filters_and_groups_stay_with_what_is_looked_at(viewer: Client, busy: Pool) -> None:
    address = reverse("budget:sheds", args=["claims"])
    page = viewer.get(f"{address}?{SPAN.query}")
    before = viewer.get(f"{address}?{page.context['earlier']}")
    group = before.context["groups"].shown[0]
    inside = viewer.get(f"{address}?{group.query}")
    assert inside.context["timeline"].found == group.calls
    assert ("until", str(micros(page.context["window"].since))) in inside.context["kept_fields"]
    bar = viewer.get(f"{address}?{before.context['timeline'].bars[0].query}")
    assert bar.context["question"].until is None


def test_every_statement_reads_the_index_of_sheds(busy: Pool) -> None:
    """Whatever is asked; a table of calls is read from end to end by none of them."""
    filters = [
        Filters(),
        Filters(workload_class="nightly", reason="headroom"),
        Filters(source="many.py:3"),
        Filters(source_part="MANY", key=""),
        Filters(decision="would_be"),
        Filters(tags=(Tag("run"), Tag("run", "3"))),
    ]
    ways = ["source", "class", "reason", "key", "tag", "time"]
    asked: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "budget_call" in sql:
            asked.append((sql, params))
        return execute(sql, params, many, context)

    with in_order_of_time() as cursor:
        with connection.execute_wrapper(note):
            for chosen in filters:
                for grouping in [*map(Grouping, ways), Grouping("tag", "run")]:
                    question = Question(SPAN, chosen, grouping)
                    window = window_of(cursor, busy.pk, question)
                    condition = where(window, chosen)
                    found = timeline(cursor, question, window, condition).found
                    groups(cursor, question, condition, found)
                    page_of(window, chosen, None)
        for plan in plans(cursor, asked):
            assert "budget_sheds" in plan, plan
            assert "Seq Scan" not in plan, plan
