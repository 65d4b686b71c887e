"""The page of a pool's sheds: who, why, when, and each of them."""

from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.test import Client
from django.urls import reverse

from budget import services
from budget.dashboard.lineup import UNTAGGED
from budget.dashboard.sheds import groups
from budget.dashboard.sheds.entries import PER_PAGE
from budget.ledger.clock import micros
from budget.models import Call, Pool
from tests.dashboard.shedding import LONG, SCRIPT, offer, shed, store
from tests.dashboard.sheds.bad import BAD_FILTERS, BAD_PLACES
from tests.dashboard.usage import record
from tests.jobs.queueing import enqueue

pytestmark = pytest.mark.usefixtures("committed")

START = datetime(2026, 1, 31, 12, tzinfo=UTC)
HOUR = {"from": "2026-01-31T12:00:00Z", "to": "2026-01-31T13:00:00Z"}


def at(minute: float) -> datetime:
    """A moment of the hour that tests look at."""
    return START + timedelta(minutes=minute)


def address(query: Any = (), pool: str = "claims") -> str:
    """The page of that hour, asked with more parameters."""
    pairs = [*HOUR.items(), *(query.items() if isinstance(query, dict) else query)]
    return f"{reverse('budget:sheds', args=[pool])}?{urlencode(pairs)}"


def found(client: Client, query: Any = ()) -> list[Call]:
    """The entries of the page, newest first."""
    answer = client.get(address(query))
    assert answer.status_code == 200, answer.content
    return [entry.call for entry in answer.context["entries"]]


def named(client: Client, **query: str) -> dict[str, int]:
    """The groups of the page: how many sheds by name."""
    shown = client.get(address(query)).context["groups"].shown
    return {group.words: group.calls for group in shown}


def test_personas_see_what_they_should(
    anonymous: Client, stranger: Client, viewer: Client, root: Client, claims: Pool
) -> None:
    login = anonymous.get(address())
    assert login.status_code == 302
    assert "login" in login["Location"]
    assert stranger.get(address()).status_code == 403
    assert viewer.get(address()).status_code == 200
    assert root.get(address()).status_code == 200


def test_a_pool_that_never_was_is_not_found(viewer: Client, claims: Pool) -> None:
    assert viewer.get(address(pool="nowhere")).status_code == 404
    assert viewer.get("/dashboard/a b/sheds/").status_code == 404


def test_who_comes_first(viewer: Client, claims: Pool) -> None:
    for minute in range(3):
        store(claims, at(minute), source="claims/nightly.py:3")
    store(claims, at(9), source="claims/rescore.py:7", workload_class="rescore", reason="ceiling")
    page = viewer.get(address())
    first, second = page.context["groups"].shown
    assert (first.words, first.calls, first.percent) == ("claims/nightly.py:3", 3, "75 %")
    assert (first.reasons, first.classes) == ([("headroom", 3)], [("nightly", 3)])
    assert (first.first, first.last) == (at(0), at(2))
    assert (second.reasons, second.classes) == ([("ceiling", 1)], [("rescore", 1)])
    assert "The largest part, 75 %, comes from" in page.content.decode()


def test_a_group_leads_to_its_sheds_alone(viewer: Client, claims: Pool) -> None:
    store(claims, at(1), source="a.py", key_prefix="key00001", tags={"team": "x=y", "a=b%": ""})
    store(claims, at(2), source="", workload_class="", reason="untagged", tags={"team": "z"})
    for by in ("source", "class", "reason", "key", "tag", "tag:team", "tag:a=b%", "time"):
        page = viewer.get(address({"group": by}))
        for group in page.context["groups"].shown:
            inside = viewer.get(f"{reverse('budget:sheds', args=['claims'])}?{group.query}")
            assert inside.status_code == 200
            assert len(inside.context["entries"]) == group.calls, (by, group)
            assert inside.context["timeline"].found == group.calls


def test_sheds_are_grouped_by_anything_they_have(viewer: Client, claims: Pool) -> None:
    store(claims, at(1), source="a.py", key_prefix="key00001", tags={"team": "north", "run": "1"})
    store(claims, at(2), source="a.py", workload_class="rescore", tags={"team": "south"})
    store(claims, at(62), source="later.py")
    assert named(viewer, group="source") == {"a.py": 2}
    assert named(viewer, group="class") == {"nightly": 1, "rescore": 1}
    assert named(viewer, group="reason") == {"headroom": 2}
    assert named(viewer, group="key") == {"in process": 1, "key00001": 1}
    assert named(viewer, group="tag") == {"team": 2, "run": 1}
    assert named(viewer, group="tag:team") == {"north": 1, "south": 1}
    assert named(viewer, group="tag:run") == {"1": 1}
    times = viewer.get(address({"group": "time"})).context["groups"].shown
    assert [group.at for group in times] == [at(2), at(1)]


def test_sheds_without_the_tag_are_counted_apart(viewer: Client, claims: Pool) -> None:
    store(claims, at(1), tags={"team": "north"})
    store(claims, at(2))
    page = viewer.get(address({"group": "tag:team"}))
    assert page.context["groups"].left_out == 1
    assert "1 sheds are in none of these" in page.content.decode()
    assert (
        "None of these sheds has such a tag"
        in viewer.get(address({"group": "tag:none"})).content.decode()
    )


def test_only_the_largest_groups_are_shown(viewer: Client, claims: Pool) -> None:
    for n in range(groups.MOST + 3):
        store(claims, at(n / 10), source=f"source {n:03}")
    store(claims, at(9), source="source 022")
    shown = viewer.get(address()).context["groups"]
    assert [group.words for group in shown.shown[:2]] == ["source 022", "source 000"]
    assert (len(shown.shown), shown.others, shown.left_out) == (groups.MOST, 3, 3)


FILTERED: list[tuple[Any, list[int]]] = [
    ({}, [5, 4, 3, 2, 1]),
    ({"class": "rescore"}, [2]),
    ({"class": "~untagged"}, [3]),
    ({"class": "never-was"}, []),
    ({"reason": "headroom"}, [5, 4, 2, 1]),
    ({"reason": "untagged"}, [3]),
    ({"decision": "would_be"}, [4]),
    ({"decision": "shed"}, [5, 3, 2, 1]),
    ({"source": "claims/Nightly.py:3"}, [1]),
    ({"source": "claims/Nightly.py"}, []),
    ({"source_part": "nightly.PY"}, [4, 1]),
    ({"source_part": "_"}, []),
    ({"no_source": "1"}, [5, 3, 2]),
    ({"key": "key00001"}, [1]),
    ({"key": "in process"}, [5, 4, 3, 2]),
    ({"tag": "team"}, [5, 1]),
    ({"tag": "team=north"}, [1]),
    ({"tag": "team="}, [5]),
    ({"tag": "run"}, []),
    ([("tag", "team"), ("tag", "claim=C-1")], [1]),
    ({"class": "nightly", "reason": "headroom", "key": "in process"}, [5, 4]),
    ({"class": "", "reason": "", "source": "", "tag": "", "key": ""}, [5, 4, 3, 2, 1]),
]


def test_each_filter_finds_its_sheds(viewer: Client, claims: Pool) -> None:
    tags = {"team": "north", "claim": "C-1"}
    store(claims, at(1), source="claims/Nightly.py:3", key_prefix="key00001", tags=tags)
    store(claims, at(2), workload_class="rescore")
    store(claims, at(3), workload_class="", untagged=True, reason="untagged", limit="")
    store(claims, at(4), source="other/nightly.py:9", state=Call.State.SETTLED)
    store(claims, at(5), tags={"team": ""})
    store(claims, at(6), state=Call.State.OPEN, reason="", limit="")
    store(claims, at(-1))
    store(claims, at(60))
    for query, minutes in FILTERED:
        assert [call.offered_at for call in found(viewer, query)] == [at(n) for n in minutes], query


def test_filters_are_taken_away_one_by_one(viewer: Client, claims: Pool) -> None:
    store(claims, at(1), source="a.py", tags={"team": "north"})
    query = {"class": "nightly", "reason": "headroom", "source": "a.py", "tag": "team=north"}
    page = viewer.get(address({**query, "group": "time"}))
    chips = dict(page.context["filters"])
    assert list(chips) == ["class nightly", "reason headroom", "source a.py", "tag team: north"]
    for name, words in zip(query, chips, strict=True):
        rest = {**HOUR, **{key: value for key, value in query.items() if key != name}}
        assert chips[words] == urlencode({**rest, "group": "time"})
    assert page.context["cleared"] == urlencode({**HOUR, "group": "time"})


def test_the_form_keeps_what_it_has_no_field_for(viewer: Client, claims: Pool) -> None:
    query = {"source": "a.py", "tag": "team=north", "group": "reason", "class": "nightly"}
    page = viewer.get(address(query))
    kept = {**HOUR, "source": "a.py", "tag": "team=north", "group": "reason"}
    assert dict(page.context["kept_fields"]) == kept
    live = viewer.get(f"{reverse('budget:sheds', args=['claims'])}?range=24h")
    assert dict(live.context["kept_fields"]) == {"range": "24h"}


def test_another_time_is_asked_about_the_same(viewer: Client, claims: Pool) -> None:
    query = [("source", "a&b.py"), ("tag", "team=north"), ("group", "reason")]
    text = unescape(viewer.get(address(query)).content.decode())
    assert f'href="?range=24h&{urlencode(query, quote_via=quote)}"' in text
    for name, value in query:
        assert f'<input type="hidden" name="{name}" value="{value}">' in text


def test_nothing_promises_to_move(viewer: Client, claims: Pool) -> None:
    text = viewer.get(f"{reverse('budget:sheds', args=['claims'])}?range=live").content.decode()
    assert "?range=live" not in text.partition('aria-label="Time range"')[2].partition("</nav>")[0]
    assert "Moves on by itself" not in text


def test_a_bad_address_is_told_what_is_wrong_with_it(viewer: Client, claims: Pool) -> None:
    for query, fault in BAD_FILTERS + BAD_PLACES:
        answer = viewer.get(address(query))
        assert answer.status_code == 400, query
        assert fault in answer.content.decode()


def test_entries_say_what_was_decided(viewer: Client, claims: Pool) -> None:
    other = store(claims, at(9))
    store(claims, at(1), key_prefix="key00001", tags={"team": "north"}, retried_as=other.pk)
    text = viewer.get(address()).content.decode()
    for words in ("on total tokens per minute", "key00001", "2.4 s", "team: north", "1,000"):
        assert words in text
    assert text.count("offered again</span>") == 1
    assert reverse("budget:dashboard_call", args=[other.pk]) in text
    assert '<time datetime="2026-01-31T12:09:00+00:00"' in text


def test_a_call_with_many_tags_takes_no_more_room_than_others(viewer: Client, claims: Pool) -> None:
    store(claims, at(1), tags={f"tag {n:02}": LONG for n in range(20)})
    text = viewer.get(address()).content.decode()
    assert "tag 03: x" in text
    assert "tag 04" not in text
    assert "and 16 more" in text


def test_what_a_pool_that_observes_would_shed_is_shown_as_such(
    viewer: Client, claims: Pool
) -> None:
    store(claims, at(1), state=Call.State.SETTLED)
    store(claims, at(2))
    page = viewer.get(address())
    (group,) = page.context["groups"].shown
    assert sorted(group.reasons) == [("headroom", 1), ("would be headroom", 1)]
    assert "would be</span>" in page.content.decode()
    assert [(bar.shed, bar.would_be) for bar in page.context["timeline"].bars] == [(0, 1), (1, 0)]


def test_pages_stay_put_while_new_sheds_come(viewer: Client, claims: Pool) -> None:
    stored = [store(claims, at(n // 20)).pk for n in range(2 * PER_PAGE + 9)]
    page = viewer.get(address())
    seen = [entry.call.pk for entry in page.context["entries"]]
    while page.context["older"]:
        store(claims, at(30))
        page = viewer.get(f"{reverse('budget:sheds', args=['claims'])}?{page.context['older']}")
        seen += [entry.call.pk for entry in page.context["entries"]]
    assert sorted(seen) == sorted(stored)
    times = dict(Call.objects.values_list("pk", "offered_at"))
    assert seen == sorted(seen, key=lambda pk: (times[pk], pk), reverse=True)
    assert "Newest</a>" in page.content.decode()
    assert len(seen) - len(page.context["entries"]) == 2 * PER_PAGE


def test_a_place_behind_the_last_entry_says_so(viewer: Client, claims: Pool) -> None:
    store(claims, at(5))
    page = viewer.get(address({"before": f"{micros(at(1))}-{'0' * 32}"}))
    assert "No older ones." in page.content.decode()


def test_an_end_outside_of_the_time_leaves_all_of_it_or_nothing(
    viewer: Client, claims: Pool
) -> None:
    store(claims, at(5))
    assert len(found(viewer, {"until": str(micros(at(90)))})) == 1
    assert found(viewer, {"until": "1"}) == []


def test_a_page_of_live_sheds_links_to_its_very_time(viewer: Client, claims: Pool) -> None:
    page = viewer.get(f"{reverse('budget:sheds', args=['claims'])}?range=15m&reason=ceiling")
    assert page.context["fixed"].startswith("from=20")
    assert page.context["fixed"].endswith("&reason=ceiling")
    assert page.context["question"].query == "range=15m&reason=ceiling"


def test_real_sheds_are_counted_exactly(viewer: Client, claims: Pool) -> None:
    shed("nightly", 9_000, source="claims/nightly.py:3")
    refused = offer(None, 10, source="claims/unknown.py")
    again = offer("nightly", 90_000, idempotency_key="k1")
    assert offer("nightly", 90_000, idempotency_key="k1").id == again.id
    page = viewer.get(f"{reverse('budget:sheds', args=['claims'])}?range=live")
    counts = page.context["counts"]
    assert counts.sheds == page.context["timeline"].found == 4
    assert refused.id in [entry.call.pk for entry in page.context["entries"]]
    by_class = {row.words: row.shed for row in counts.classes}
    assert by_class == {"nightly": 3, UNTAGGED: 1}
    assert not page.context["pruned"]
    for row in counts.classes:
        for reason in row.reasons:
            inside = viewer.get(f"{reverse('budget:sheds', args=['claims'])}?{reason.query}")
            assert inside.context["timeline"].found == reason.calls


def test_counts_that_outlived_their_calls_are_explained(viewer: Client, claims: Pool) -> None:
    record(claims, at(3), slug="nightly", offered=9, admitted=2, shed={"headroom": 7})
    store(claims, at(3))
    text = viewer.get(address()).content.decode()
    assert "The counts by class know of 7" in text
    assert "1 are left to look at" in text
    assert "know of" not in viewer.get(address({"class": "nightly"})).content.decode()


def test_sheds_that_came_since_the_usage_was_read_count_in_all_of_the_sentence(
    viewer: Client, claims: Pool
) -> None:
    record(claims, at(3), slug="nightly", offered=3, admitted=2, shed={"headroom": 1})
    for minute in (3, 4):
        store(claims, at(minute))
    text = viewer.get(address()).content.decode()
    assert "<strong>2 sheds.</strong>" in text
    assert "In all, 2 of 3 calls and jobs offered in this time were shed." in text
    filtered = viewer.get(address({"reason": "ceiling"})).content.decode()
    assert "In all, 1 of 3 calls and jobs offered in this time were shed." in filtered


def test_expired_jobs_are_counted_and_linked_for_those_who_may_see_them(
    viewer: Client, root: Client, claims: Pool
) -> None:
    record(claims, at(3), slug="rescore", offered=9, expired=4)
    listed = (
        f"{reverse('admin:budget_job_changelist')}?pool_id={claims.pk}&amp;state__exact=expired"
    )
    for client in (viewer, root):
        text = client.get(address()).content.decode()
        assert "4 jobs expired" in text
        assert listed in text
    assert (
        f"{listed}&amp;workload_class=rescore"
        in viewer.get(address({"class": "rescore"})).content.decode()
    )


def test_a_job_that_got_no_place_is_no_attempt_of_one(root: Client, claims: Pool) -> None:
    with pytest.raises(services.Shed):
        enqueue("rescore", tokens=3_000_000)
    page = root.get(f"{reverse('budget:sheds', args=['claims'])}?range=live")
    (entry,) = page.context["entries"]
    assert entry.job == "job, got no place"
    assert entry.job_address == ""


def test_an_attempt_of_a_job_leads_staff_to_it(
    stranger: Client, viewer: Client, claims: Pool
) -> None:
    job = enqueue("rescore").id
    store(claims, at(1), job_id=job, state=Call.State.SETTLED)
    link = reverse("admin:budget_job_change", args=[job])
    assert link in viewer.get(address()).content.decode()


def test_the_class_that_all_are_of_can_be_paused_from_here(
    viewer: Client, on_call: Client, claims: Pool
) -> None:
    store(claims, at(1), source="a.py")
    store(claims, at(2), source="a.py", workload_class="", reason="untagged")
    alone = {"class": "nightly"}
    pause = reverse("budget:switch_class", args=["nightly", "pause"])
    back = f"{pause}?next={quote(address(alone), safe='')}"
    assert "/switch/" not in on_call.get(address()).content.decode()
    text = on_call.get(address(alone)).content.decode()
    assert f'href="{back}">nightly: Pause…</a>' in text
    assert back in on_call.get(address({"reason": "headroom"})).content.decode().replace(
        "reason%3Dheadroom", "class%3Dnightly"
    )
    assert "/switch/" not in viewer.get(address(alone)).content.decode()
    on_call.post(back, {"reason": "runaway loop"})
    text = on_call.get(address(alone)).content.decode()
    assert "nightly: Resume…" in text
    assert "by olga: “runaway loop”" in text


def test_texts_of_callers_stay_texts(viewer: Client, claims: Pool) -> None:
    odd = {"source": SCRIPT, "workload_class": "nightly", "tags": {SCRIPT: SCRIPT, "a": LONG}}
    store(claims, at(1), **odd)
    store(claims, at(2), source=LONG, tags={LONG[:50]: LONG})
    for query in (
        {},
        {"source": SCRIPT},
        {"tag": f"{SCRIPT}={SCRIPT}"},
        {"source_part": SCRIPT},
        {"group": "tag"},
        {"group": f"tag:{SCRIPT}"},
        {"key": SCRIPT},
    ):
        page = viewer.get(address(query))
        assert page.status_code == 200
        assert SCRIPT not in page.content.decode()
    assert len(found(viewer, {"tag": f"{SCRIPT}={SCRIPT}"})) == 1
    assert len(found(viewer, {"source": LONG})) == 1


def test_an_empty_page_says_so(viewer: Client, claims: Pool) -> None:
    assert "Nothing was shed in this time." in viewer.get(address()).content.decode()
    filtered = viewer.get(address({"reason": "ceiling"})).content.decode()
    assert "Nothing passes the filters in this time." in filtered
