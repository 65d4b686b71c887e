"""The page of a pool."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from budget.dashboard.levels import FREE
from budget.dashboard.rows import COLUMNS
from budget.models import Limit, Pool, Reservation, WorkloadClass
from tests.admin.conftest import client_with
from tests.dashboard.addresses import class_page, pool_page
from tests.dashboard.usage import GAP, MINUTE, record

pytestmark = pytest.mark.django_db

PAGES = [pool_page(), class_page("nightly"), reverse("budget:dashboard")]


class Opened:
    """A page: what it was made of, and what came of it."""

    def __init__(self, answer: Any) -> None:
        assert answer.status_code == 200
        self.context = answer.context
        self.html = answer.content.decode()

    def __getitem__(self, name: str) -> Any:
        return self.context[name]


def opened(client: Client, address: str) -> Opened:
    return Opened(client.get(address))


def texts_of(page: Opened, name: str) -> dict[str, str]:
    row = next(linked.row for linked in page["rows"] if linked.row.member.name == name)
    return {column.alone: text for column, text in zip(COLUMNS, row.texts, strict=True)}


@pytest.mark.parametrize("page", PAGES)
def test_anonymous_is_sent_to_the_login_and_back(
    anonymous: Client, history: datetime, page: str
) -> None:
    answer = anonymous.get(page)
    assert answer.status_code == 302
    assert "login/?next=/dashboard/" in answer["Location"]


@pytest.mark.parametrize("page", PAGES)
def test_a_login_without_a_permission_is_not_enough(
    stranger: Client, history: datetime, page: str
) -> None:
    assert stranger.get(page).status_code == 403


@pytest.mark.parametrize("page", PAGES)
def test_whoever_may_see_usage_may_look(
    viewer: Client, on_call: Client, editor: Client, root: Client, history: datetime, page: str
) -> None:
    for client in (viewer, on_call, editor, root):
        assert client.get(page).status_code == 200


def test_only_those_who_may_pause_see_the_switch(
    viewer: Client, on_call: Client, editor: Client, history: datetime
) -> None:
    switch = reverse("budget:switch_pool", args=["claims", "pause"])
    assert switch not in opened(viewer, pool_page()).html
    assert switch in opened(on_call, pool_page()).html
    assert switch in opened(editor, pool_page()).html


def test_the_table_tells_what_each_class_did(viewer: Client, history: datetime) -> None:
    page = opened(viewer, pool_page())
    assert [linked.row.member.name for linked in page["rows"]] == ["adjuster", "rescore", "nightly"]
    nightly = texts_of(page, "nightly")
    assert nightly["Shed"] == "432"
    assert nightly["Shed rate"] == "17 %"
    assert nightly["Used of estimated"] == "80 %"
    assert int(nightly["Offered"].replace(",", "")) == 432 + int(
        nightly["Admitted"].replace(",", "")
    )
    assert texts_of(page, "adjuster")["Jobs waiting"] == "–"
    assert texts_of(page, "rescore")["Lent, as estimated"].endswith(" k")


def test_each_reason_leads_to_its_sheds(viewer: Client, history: datetime) -> None:
    page = opened(viewer, pool_page())
    nightly = page["rows"][2]
    assert [(reason.words, reason.calls) for reason, _ in nightly.reasons] == [
        ("floor protected", 324),
        ("headroom", 108),
    ]
    assert nightly.reasons[0][1] == (
        f"{reverse('budget:sheds', args=['claims'])}?range=1h&class=nightly"
        "&reason=floor_protected&decision=shed"
    )
    for address in [address for _, address in nightly.reasons]:
        assert address.replace("&", "&amp;") in page.html
        assert viewer.get(address).status_code == 200


def test_whoever_may_not_see_calls_gets_no_links_to_sheds(history: datetime) -> None:
    page = opened(client_with("una", "view_usageminute"), pool_page())
    assert "sheds/" not in page.html


def test_the_gap_is_told_and_drawn_as_one(viewer: Client, history: datetime) -> None:
    page = opened(viewer, pool_page())
    data = page["data"]
    first = int((history + GAP[0] * MINUTE).timestamp() - data["start"]) // 60
    assert data["known"][first - 1 : first + len(GAP) + 1] == "1" + "0" * len(GAP) + "1"
    for figure in data["figures"]:
        if figure["name"] in ("use", "shed"):
            values = figure["series"][0]["values"]
            assert values[first : first + len(GAP)] == [None] * len(GAP)
    assert "Nothing was recorded from" in page.html


def test_moments_stand_in_utc_and_say_so_without_scripts(viewer: Client, history: datetime) -> None:
    html = opened(viewer, pool_page()).html
    at = (history + 30 * MINUTE).astimezone(UTC)
    assert f"{at:%H:%M}:00 UTC</time>, with 78." in html


def test_an_address_without_a_range_shows_an_hour(viewer: Client, history: datetime) -> None:
    page = opened(viewer, pool_page(query=""))
    assert page["span"].name == "1h"
    assert 'aria-current="true">1 hour' in page.html


def test_a_bad_range_is_refused_with_the_parameter_and_the_fix(
    viewer: Client, history: datetime
) -> None:
    for address in (pool_page(query="range=2h"), class_page("nightly", query="range=2h")):
        answer = viewer.get(address)
        assert answer.status_code == 400
        assert "range: use one of live, 15m, 1h" in answer.content.decode()


def test_an_unknown_pool_is_not_found(viewer: Client) -> None:
    assert viewer.get(pool_page("nowhere")).status_code == 404


def test_a_time_without_any_record_says_so_and_draws_nothing(
    viewer: Client, history: datetime
) -> None:
    page = opened(viewer, pool_page(query="from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z"))
    assert "Nothing was recorded on claims in this time" in page.html
    assert "<figure" not in page.html
    texts = set(texts_of(page, "adjuster").values())
    assert texts == {"–"}, "what isn't known is no zero"


def test_a_pool_nobody_ever_called_can_be_looked_at(viewer: Client, claims: Pool) -> None:
    page = opened(viewer, pool_page())
    assert "Nobody called in this time." in page.html
    assert texts_of(page, "nightly")["Shed rate"] == "–"


def test_a_pool_without_limits_or_classes_can_be_looked_at(viewer: Client) -> None:
    Pool.objects.create(slug="bare", provider="openai")
    html = opened(viewer, pool_page("bare")).html
    assert "No limits yet: every call is admitted." in html
    assert "No class has a reservation on this pool" in html


def test_classes_without_a_reservation_are_listed_once_they_call(
    viewer: Client, history: datetime
) -> None:
    WorkloadClass.objects.create(slug="idle", tier="bulk", deadline_seconds=60)
    WorkloadClass.objects.create(slug="guest", tier="interactive", deadline_seconds=1)
    record(Pool.objects.get(), history + 9 * MINUTE, "guest", offered=1)
    record(Pool.objects.get(), history + 9 * MINUTE, "gone", offered=1)
    record(Pool.objects.get(), history + 9 * MINUTE, "", offered=2, shed={"untagged": 2})
    names = [linked.row.member.name for linked in opened(viewer, pool_page())["rows"]]
    assert names == ["guest", "adjuster", "rescore", "nightly", "gone", "untagged calls"]


def test_states_are_shown(viewer: Client, claims: Pool) -> None:
    Pool.objects.update(paused=True, mode="observe")
    WorkloadClass.objects.filter(slug="rescore").update(draining=True)
    WorkloadClass.objects.filter(slug="adjuster").update(paused=True)
    page = opened(viewer, pool_page())
    assert page["board"].states == ["paused", "observe"]
    states = {linked.row.member.name: linked.row.states for linked in page["rows"]}
    assert states == {"adjuster": ["paused"], "rescore": ["draining", "red"], "nightly": ["red"]}


def test_what_would_be_shed_is_told(viewer: Client, claims: Pool) -> None:
    minute = datetime.now(UTC).replace(second=0, microsecond=0) - 5 * MINUTE
    record(claims, minute, "nightly", offered=9, admitted=9, would_shed={"headroom": 4})
    page = opened(viewer, pool_page())
    nightly = page["rows"][2]
    assert [(reason.words, reason.calls) for reason, _ in nightly.reasons] == [
        ("would be: headroom", 4)
    ]
    address = nightly.reasons[0][1]
    assert address.endswith("&class=nightly&reason=headroom&decision=would_be")
    assert viewer.get(address).status_code == 200
    assert "4 would have been (44 %), had the pool enforced: nightly 4, all because" in page.html


def test_limits_are_shown_as_they_are_now_rates_of_tokens_first(
    viewer: Client, claims: Pool
) -> None:
    Limit.objects.create(
        pool=claims, unit="total_tokens", algorithm="gauge", amount=9_000_000, of_batch=True
    )
    Pool.objects.update(batch=True)
    levels = opened(viewer, pool_page())["board"].levels
    assert [level.name for level in levels] == [
        "total tokens per minute",
        "requests per minute",
        "requests at once",
        "batch endpoint: total tokens at once",
    ]
    assert levels[0].terms == "400,000 tokens per minute"
    assert levels[0].text == "0 % in use, 100,000 of 100,000 available"
    assert levels[2].terms == "40 requests at once"


def test_what_is_available_is_told_in_effective_floors_and_what_is_free(
    viewer: Client, claims: Pool
) -> None:
    tokens = opened(viewer, pool_page())["board"].levels[0]
    assert tokens.parts == [
        ("effective floor of adjuster", "50,000 of 50,000"),
        ("effective floor of rescore", "20,000 of 20,000"),
        (FREE, "30,000"),
    ]
    assert tokens.as_json() == [0, tokens.text, ["50,000 of 50,000", "20,000 of 20,000", "30,000"]]
    (own, free) = opened(viewer, class_page("rescore"))["board"].levels[0].parts
    assert own == ("effective floor of rescore", "20,000 of 20,000")
    assert free == (FREE, "30,000"), "the same whoever looks"


def test_hostile_words_are_text(viewer: Client, claims: Pool) -> None:
    evil = "</script><script>alert(1)</script>"
    minute = datetime.now(UTC).replace(second=0, microsecond=0) - 5 * MINUTE
    record(claims, minute, "nightly", offered=2, shed={evil: 2})
    for address in (pool_page(), class_page("nightly"), reverse("budget:dashboard")):
        html = opened(viewer, address).html
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert(1)" in html


def test_a_ledger_that_does_not_answer_is_told(viewer: Client, claims: Pool) -> None:
    other = connection.copy()
    other.set_autocommit(False)
    with other.cursor() as cursor:
        cursor.execute("LOCK TABLE budget_usageminute IN ACCESS EXCLUSIVE MODE")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '100ms'")
    answer = viewer.get(pool_page())
    other.close()
    assert answer.status_code == 503
    assert "This page tries again every 10 seconds." in answer.content.decode()


@pytest.mark.parametrize("name", ["live", "15m", "1h", "24h", "7d", "30d"])
def test_all_ranges_can_be_looked_at(viewer: Client, history: datetime, name: str) -> None:
    page = opened(viewer, pool_page(query=f"range={name}"))
    assert page["live"] == f"{reverse('budget:dashboard_live', args=['claims'])}?range={name}"


def test_a_time_that_was_does_not_move_on(viewer: Client, history: datetime) -> None:
    start = history.isoformat().replace("+00:00", "Z")
    end = (history + timedelta(minutes=40)).isoformat().replace("+00:00", "Z")
    page = opened(viewer, pool_page(query=f"from={start}&to={end}"))
    assert page["live"] == ""
    assert texts_of(page, "nightly")["Shed"] == "432"


def test_a_reservation_that_goes_leaves_the_class_that_called(
    viewer: Client, history: datetime
) -> None:
    Reservation.objects.filter(workload_class__slug="nightly").delete()
    names = [linked.row.member.name for linked in opened(viewer, pool_page())["rows"]]
    assert "nightly" in names


def test_whoever_is_logged_in_is_named_and_may_log_out(viewer: Client, history: datetime) -> None:
    html = opened(viewer, pool_page()).html
    assert f'<form method="post" action="{reverse("logout")}">' in html
    assert viewer.post(reverse("logout")).status_code == 302
    assert viewer.get(pool_page()).status_code == 302
