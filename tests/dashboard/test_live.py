"""Live updates: small, quick to make, and enough."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pghistory
import pytest
from django.test import Client

from budget import services
from budget.dashboard.span import RANGES
from budget.models import Pool, Reservation
from tests.admin.conftest import client_with
from tests.dashboard.addresses import live_page
from tests.dashboard.test_pool import opened, pool_page
from tests.dashboard.usage import MINUTE, STORM, month, record, ten_classes

pytestmark = pytest.mark.django_db

LEFT_TO_THE_PAGE = 120_000
"""Bytes of the 250 KB that scripts and style leave; a browser test adds them up."""


def update(client: Client, **query: Any) -> dict[str, Any]:
    parameters = "&".join(f"{name}={value}" for name, value in query.items())
    answer = client.get(live_page(query=f"range=1h&{parameters}"))
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    assert answer["Cache-Control"] == "no-store"
    return answer.json()


def seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def test_only_steps_since_a_moment_come(viewer: Client, history: datetime) -> None:
    since = history + STORM[0] * MINUTE
    told = update(viewer, since=seconds(since))
    assert told["since"] == seconds(since)
    length = told["count"] - (told["since"] - told["start"]) // told["step"]
    assert {len(values) for figure in told["figures"] for values in figure} == {length}
    assert len(told["known"]) == length
    shed = told["figures"][1]
    assert shed[2][:3] == [12, 24, 36]


def test_it_continues_what_the_page_shows(viewer: Client, history: datetime) -> None:
    page, told = {"start": 0}, {"start": 1}
    while page["start"] != told["start"]:  # as when a minute begins between the two
        page = opened(viewer, pool_page())["data"]
        told = update(viewer, since=page["start"])
    assert told["shape"] == page["shape"]
    assert told["version"] == page["version"]
    for figure, values in zip(page["figures"], told["figures"], strict=True):
        assert [line["values"] for line in figure["series"] + figure["guides"]] == values


@pytest.mark.parametrize("since", ["0", "1767225601.5", "99999999999"])
def test_a_moment_that_begins_no_step_gets_all(
    viewer: Client, history: datetime, since: str
) -> None:
    told = update(viewer, since=since)
    assert told["since"] == told["start"]


def test_words_and_numbers_follow(viewer: Client, history: datetime) -> None:
    told = update(viewer, since=seconds(history))
    assert told["findings"][1][0].startswith("462 of ")
    assert told["rows"][2][2] == [["floor_protected", 324], ["headroom", 108]]
    assert told["levels"][0] == [
        0,
        "0 % in use, 100,000 of 100,000 available",
        ["50,000 of 50,000", "20,000 of 20,000", "30,000"],
    ]
    assert told["states"] == ["enforce"]


def test_one_class_can_be_asked_for(viewer: Client, history: datetime) -> None:
    told = update(viewer, since=0, **{"class": "nightly"})
    assert len(told["rows"]) == 1
    assert len(told["figures"]) == 5


def test_a_new_line_changes_the_shape(viewer: Client, history: datetime) -> None:
    before = update(viewer, since=0)["shape"]
    assert update(viewer, since=0)["shape"] == before
    record(Pool.objects.get(), history + 9 * MINUTE, "", offered=1, shed={"untagged": 1})
    assert update(viewer, since=0)["shape"] != before


def test_it_is_small_with_ten_classes(viewer: Client) -> None:
    pool = ten_classes("claims")
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    for n in range(60):
        for place, row in enumerate(pool.reservations.all()):
            record(
                pool,
                now - n * MINUTE,
                row.workload_class.slug,
                offered=123_456,
                admitted=120_000,
                shed={"floor_protected": 1700, "headroom": 1500, "pool_exhausted": 256},
                charged=38_765 + place,
                estimated_tokens=12_345_678,
                used_tokens=11_345_678,
                floor_tokens=9999,
                borrowed_tokens=8888,
                lent_tokens=7777,
                queue_depth=1234,
                oldest_wait_seconds=1234.5,
            )
    version = update(viewer, since=0)["version"]
    query = f"range=1h&since={seconds(now - MINUTE)}&version={version}"
    answer = viewer.get(live_page(query=query))
    assert len(answer.json()["rows"]) == 10
    assert len(answer.content) <= 5 * 1024


def test_it_asks_for_changes_only_of_another_policy_version(viewer: Client, claims: Pool) -> None:
    version = update(viewer, since=0)["version"]
    assert update(viewer, since=0, version=version)["marks"] == []
    assert len(update(viewer, since=0, version=version - 1)["marks"]) == 1


def test_a_change_comes_once(viewer: Client, claims: Pool) -> None:
    (first,) = update(viewer, since=0)["marks"]
    with pghistory.context(username="ada", reason="storm"):
        Reservation.objects.filter(workload_class__slug="adjuster").update(share_percent=45)
    assert update(viewer, since=0, changed=first["at"])["marks"], "one transaction in tests"


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("range=never", "range: use one of"),
        ("range=1h&since=soon", "since: write it as seconds since 1970"),
        ("range=1h&since=nan", "since: write it as seconds since 1970"),
        ("range=1h&since=1e30", "since: write it as seconds since 1970"),
        ("range=1h&changed=%00", "changed: write it as seconds since 1970"),
    ],
)
def test_what_is_no_moment_is_refused(viewer: Client, claims: Pool, query: str, fault: str) -> None:
    answer = viewer.get(live_page(query=query))
    assert answer.status_code == 400
    assert fault in answer.content.decode()


def test_what_is_not_there_is_not_found(viewer: Client, claims: Pool) -> None:
    assert viewer.get(live_page("nowhere")).status_code == 404
    assert viewer.get(live_page(query="range=1h&class=nobody")).status_code == 404


def test_only_those_who_may_look_are_told(
    anonymous: Client, stranger: Client, claims: Pool
) -> None:
    assert anonymous.get(live_page()).status_code == 302
    assert stranger.get(live_page()).status_code == 403
    assert client_with("una", "view_usageminute").get(live_page()).status_code == 200


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("committed")
def test_a_call_made_now_is_in_it(viewer: Client, claims: Pool) -> None:
    since = int(time.time() // 60 * 60)
    before = update(viewer, since=since)
    services.admit(
        services.AdmissionRequest(
            pool="claims", workload_class="adjuster", input_tokens=900, output_tokens=300
        ),
        services.IN_PROCESS,
    )
    after = update(viewer, since=since)
    assert sum(before["figures"][0][0]) == 0
    assert sum(after["figures"][0][0]) == 1200
    assert after["rows"][0][1][1:3] == ["1", "1"]
    assert before["levels"][-1][1].endswith("40 of 40 available")
    assert after["levels"][-1][1].endswith("39 of 40 available"), "a gauge doesn't refill"


def test_first_pages_are_light_whatever_the_time(viewer: Client) -> None:
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    month(ten_classes("claims"), now)
    ranges = [f"range={name}" for name in RANGES]
    lengths = (timedelta(hours=3), timedelta(hours=26), timedelta(days=8))
    for query in ranges + [f"from={(now - length).isoformat()[:19]}Z" for length in lengths]:
        assert len(viewer.get(pool_page(query=query)).content) <= LEFT_TO_THE_PAGE
