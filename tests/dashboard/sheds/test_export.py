"""Sheds as a file."""

import contextlib
import csv
import io
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from budget.dashboard.sheds import queries, views
from budget.dashboard.sheds.export import AT_ONCE
from budget.dashboard.sheds.views import MOST_EXPORTS
from budget.ledger.clock import micros
from budget.models import Pool
from tests.dashboard.shedding import LONG, SCRIPT, store, store_many
from tests.dashboard.sheds.bad import BAD_FILTERS
from tests.dashboard.sheds.test_views import HOUR, START, at

pytestmark = pytest.mark.usefixtures("committed")


def address(query: Any = (), pool: str = "claims") -> str:
    """The export of that hour."""
    pairs = [*HOUR.items(), *(query.items() if isinstance(query, dict) else query)]
    return f"{reverse('budget:sheds_csv', args=[pool])}?{urlencode(pairs)}"


def exported(client: Client, query: Any = ()) -> list[dict[str, str]]:
    """The lines, by heading."""
    answer: Any = client.get(address(query))
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.content.decode(), newline="")))


def test_personas_get_what_they_should(
    anonymous: Client, stranger: Client, viewer: Client, claims: Pool
) -> None:
    assert anonymous.get(address()).status_code == 302
    assert stranger.get(address()).status_code == 403
    assert viewer.get(address()).status_code == 200
    assert viewer.get(address(pool="nowhere")).status_code == 404


def test_a_line_says_everything_about_a_shed(viewer: Client, claims: Pool) -> None:
    again, job = uuid4(), uuid4()
    call = store(
        claims,
        at(1.5),
        source="claims/nightly.py:3",
        key_prefix="key00001",
        tags={"team": "nörth"},
        retried_as=again,
        job_id=job,
    )
    assert exported(viewer) == [
        {
            "id": str(call.pk),
            "offered_at": "2026-01-31T12:01:30.000000Z",
            "workload_class": "nightly",
            "decision": "shed",
            "reason": "headroom",
            "limit": "total_tokens/token_bucket",
            "source": "claims/nightly.py:3",
            "api_key": "key00001",
            "input_tokens": "900",
            "output_tokens": "100",
            "retry_after_ms": "2400",
            "offered_again_as": str(again),
            "job_id": str(job),
            "tags": '{"team": "nörth"}',
        }
    ]


def test_the_file_is_named_after_the_pool_and_the_time(viewer: Client, claims: Pool) -> None:
    answer = viewer.get(address())
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"] == (
        'attachment; filename="sheds-claims-20260131T1200Z-20260131T1300Z.csv"'
    )


def test_the_filters_of_the_page_hold_for_the_file(viewer: Client, claims: Pool) -> None:
    store(claims, at(1), source="a.py")
    store(claims, at(2), source="b.py", state="settled")
    store(claims, at(61), source="a.py")
    assert [line["source"] for line in exported(viewer)] == ["b.py", "a.py"]
    assert [line["source"] for line in exported(viewer, {"source": "a.py"})] == ["a.py"]
    assert [line["decision"] for line in exported(viewer, {"source": "b.py"})] == ["would be shed"]
    assert exported(viewer, {"reason": "ceiling"}) == []


def test_bad_filters_are_told_apart(viewer: Client, claims: Pool) -> None:
    for query, fault in BAD_FILTERS:
        answer = viewer.get(address(query))
        assert answer.status_code == 400, query
        assert fault in answer.content.decode()


def test_no_text_is_a_formula(viewer: Client, claims: Pool) -> None:
    formulas = [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "＝1+1",
        "＋1",
        "－1",
        "＠A1",
    ]
    others = [SCRIPT, LONG, 'a "b", c\nd', "'x"]
    texts = formulas + others
    for n, text in enumerate(texts):
        store(claims, at(30 - n), source=text)
    found = [line["source"] for line in exported(viewer)]
    assert found == [f"'{text}" for text in formulas] + others


def test_a_file_that_is_cut_says_so_in_its_last_line(
    viewer: Client, claims: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "LOOKED_AT", 3)
    for minute in range(5):
        store(claims, at(minute))
    *lines, last = exported(viewer)
    assert [line["offered_at"][14:19] for line in lines] == ["04:00", "03:00", "02:00"]
    assert last.pop("id") == "sheds before 2026-01-31T12:01:00.000001Z are left out"
    assert set(last.values()) == {""}
    assert "T1201Z-20260131T1300Z" in viewer.get(address())["Content-Disposition"]
    until = micros(at(1)) + 1
    assert [line["offered_at"][14:19] for line in exported(viewer, {"until": f"{until}"})] == [
        "01:00",
        "00:00",
    ]
    filtered = exported(viewer, {"reason": "ceiling"})
    assert [line["id"][:12] for line in filtered] == ["sheds before"]


def test_a_long_file_is_whole_and_each_shed_is_in_it_once(viewer: Client, claims: Pool) -> None:
    count = 10 * AT_ONCE + 7
    store_many(claims, START + timedelta(hours=1), timedelta(hours=1), count)
    seen = [line[:64] for line in viewer.get(address()).content.decode().splitlines()]
    assert len(seen) == len(set(seen)) == count + 1
    times = [line.split(",")[1] for line in seen[1:]]
    assert times == sorted(times, reverse=True)


def test_only_so_many_files_are_written_at_once(viewer: Client, claims: Pool) -> None:
    with contextlib.ExitStack() as others:
        for _ in range(MOST_EXPORTS):
            others.enter_context(views._exports)
        answer = viewer.get(address())
        assert (answer.status_code, answer["Retry-After"]) == (503, "10")
    assert viewer.get(address()).status_code == 200
