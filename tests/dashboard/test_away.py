"""What callers decided while the service was away stands on the pool's page."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from budget import services
from budget.models import Pool
from budget.services import AwayReport
from tests.dashboard.addresses import class_page, live_page, pool_page
from tests.dashboard.test_pool import opened

pytestmark = pytest.mark.django_db(transaction=True)

HEADING = "While the service was away"
HOUR_MS = 3_600_000


def report(workload_class: str | None, choice: str, **changes: Any) -> AwayReport:
    told = {
        "report": uuid4(),
        "workload_class": workload_class,
        "choice": choice,
        "admitted": 1200,
        "shed": 3,
        "input_tokens": 600_000,
        "output_tokens": 70_000,
        "first_at_ms_ago": 600_000,
        "last_at_ms_ago": 300_000,
    }
    return AwayReport(**told | changes)


@pytest.fixture
def told(committed: None, claims: Pool) -> None:
    """Two processes, ten minutes ago, and one three hours ago."""
    for reports in (
        [report("nightly", "shed", admitted=0), report("adjuster", "local")],
        [report("adjuster", "local"), report(None, "shed")],
        [report("rescore", "admit", first_at_ms_ago=3 * HOUR_MS, last_at_ms_ago=3 * HOUR_MS)],
    ):
        services.hear("claims", uuid4(), away=reports)


def test_it_adds_up_by_class_strictest_first(viewer: Client, told: None) -> None:
    page = opened(viewer, pool_page())
    assert HEADING in page.html
    rows = page["board"].away
    assert [(row.name, row.calls.choice, row.calls.admitted, row.calls.shed) for row in rows] == [
        ("adjuster", "local", 2400, 6),
        ("nightly", "shed", 0, 3),
        ("untagged calls", "shed", 1200, 3),
    ]
    assert "1,340,000" in page.html
    assert "local: each process kept a part of the floor" in page.html


def test_the_overview_counts_those_of_the_last_hour(viewer: Client, told: None) -> None:
    (now,) = opened(viewer, "/dashboard/")["pools"]
    assert now.told[-1].text == (
        "In the last hour callers decided on 3,612 calls by themselves, while the service was away."
    )
    assert 'id="away"' in opened(viewer, now.told[-1].address.partition("#")[0]).html


def test_only_the_time_shown_counts(viewer: Client, told: None) -> None:
    rows = opened(viewer, pool_page(query="range=24h"))["board"].away
    assert [row.name for row in rows] == ["adjuster", "rescore", "nightly", "untagged calls"]


def test_a_pool_without_any_and_a_class_have_no_place_for_it(
    viewer: Client, committed: None, claims: Pool
) -> None:
    services.hear("claims", uuid4())
    assert HEADING not in opened(viewer, pool_page()).html
    services.hear("claims", uuid4(), away=[report("adjuster", "local")])
    assert HEADING in opened(viewer, pool_page()).html
    assert HEADING not in opened(viewer, class_page("adjuster")).html


def test_an_open_page_takes_it_in_as_it_is_reported(
    viewer: Client, committed: None, claims: Pool
) -> None:
    before = viewer.get(live_page()).json()["shape"]
    services.hear("claims", uuid4(), away=[report("adjuster", "local")])
    assert viewer.get(live_page()).json()["shape"] != before
