"""One call explained."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from budget import services
from budget.models import Call, PolicyRevision, Pool, Reservation, WorkloadClass
from budget.policy.switches import CLASS_SWITCHES
from tests.dashboard.shedding import LONG, SCRIPT, gauge_pool, offer, shed, store
from tests.jobs.queueing import enqueue, take_one

pytestmark = pytest.mark.usefixtures("committed")

CLASSES = (
    {"workload_class": "adjuster", "share_percent": 50},
    {"workload_class": "rescore", "share_percent": 20},
    {"workload_class": "nightly"},
)


def address(call_id: UUID) -> str:
    """The page that explains a call."""
    return reverse("budget:dashboard_call", args=[call_id])


def text_of(client: Client, call_id: UUID) -> str:
    """What the page says, without its markup."""
    answer = client.get(address(call_id))
    assert answer.status_code == 200
    words = unescape(re.sub(r"<[^>]+>", " ", answer.content.decode()))
    return re.sub(r"\s+", " ", words)


def remedies(client: Client, call_id: UUID) -> list[str]:
    """What would have let the call in."""
    return client.get(address(call_id)).context["remedies"]


def reserve(pool: Pool, workload_class: str, **terms: Any) -> None:
    """Change a class's terms."""
    found = Reservation.objects.filter(pool=pool, workload_class__slug=workload_class)
    found.update(**terms)


def test_personas_see_what_they_should(
    anonymous: Client, stranger: Client, viewer: Client, claims: Pool
) -> None:
    refused = shed("nightly", 9_000)
    assert anonymous.get(address(refused.pk)).status_code == 302
    assert stranger.get(address(refused.pk)).status_code == 403
    assert viewer.get(address(refused.pk)).status_code == 200


def test_a_call_that_never_was_is_not_found(viewer: Client, claims: Pool) -> None:
    assert viewer.get(address(uuid4())).status_code == 404
    assert viewer.get("/dashboard/calls/nonsense/").status_code == 404
    assert viewer.get(f"/dashboard/calls/{uuid4()}0/").status_code == 404


def test_it_says_why_in_words_and_numbers(viewer: Client, claims: Pool) -> None:
    refused = shed("nightly", 9_000, source="claims/nightly.py:3", tags={"team": "north"})
    text = text_of(viewer, refused.pk)
    assert "shed" in text
    assert "floor protected on total tokens per minute" in text
    assert refused.detail.replace("total_tokens/token_bucket", "total tokens per minute") in text
    assert "token_bucket" not in text
    assert "adjuster 50,000, rescore 20,000" in text
    assert "claims/nightly.py:3" in text
    assert "Tag team north" in text
    assert "in process" in text
    assert "9,000 in, 0 out" in text
    assert f"Policy version {refused.policy_version}" in text
    assert "Yields above 80 %" in text


def test_the_version_leads_to_the_change_that_made_it(
    root: Client, viewer: Client, claims: Pool
) -> None:
    shed("nightly", 9_000)
    reserve(claims, "nightly", headroom_percent=20)
    late = shed("nightly", 9_000)
    Reservation.objects.filter(pool=claims).update(weight=2)
    offer("nightly", 1)
    change = root.get(root.get(address(late.pk)).context["change_address"])
    assert "headroom 10 % → 20 %" in change.content.decode()
    assert "The change that made it" in text_of(viewer, late.pk)


def test_who_is_not_on_the_staff_sees_no_links_into_the_admin(
    stranger: Client, viewer: Client, claims: Pool
) -> None:
    job = enqueue("rescore").id
    refused = store(claims, datetime.now(UTC), job_id=job, state=Call.State.SETTLED)
    sam = User.objects.get(username="sam")
    sam.user_permissions.set(Permission.objects.filter(content_type__app_label="budget"))
    assert "/admin/" in viewer.get(address(refused.pk)).content.decode()
    assert "/admin/" not in stranger.get(address(refused.pk)).content.decode()


def test_its_class_can_be_paused_from_here(viewer: Client, on_call: Client, claims: Pool) -> None:
    refused = shed("nightly", 9_000)
    untagged = store(claims, datetime.now(UTC), workload_class="", reason="untagged")
    assert "nightly: Pause…" in text_of(on_call, refused.pk)
    assert "Pause…" not in text_of(viewer, refused.pk)
    assert "Pause…" not in text_of(on_call, untagged.pk)


def test_terms_are_for_those_who_may_see_reservations(stranger: Client, claims: Pool) -> None:
    refused = shed("nightly", 9_000)
    sam = User.objects.get(username="sam")
    sam.user_permissions.add(Permission.objects.get(codename="view_call"))
    assert "Yields above" not in text_of(stranger, refused.pk)
    sam.user_permissions.add(Permission.objects.get(codename="view_reservation"))
    assert "Yields above" in text_of(stranger, refused.pk)


def test_the_admin_shows_the_same_arithmetic(root: Client, claims: Pool) -> None:
    refused = shed("nightly", 9_000)
    pages = [address(refused.pk), reverse("admin:budget_call_change", args=[refused.pk])]
    shown = [root.get(page).content.decode() for page in pages]
    dashboard, admin = (re.findall(r'data-name="([^"]+)">([^<]+)<', text) for text in shown)
    assert dashboard == admin
    assert ("Protected for others", "adjuster 50,000, rescore 20,000") in dashboard


def test_a_smaller_call_would_have_been_admitted(viewer: Client) -> None:
    gauge_pool(*CLASSES)
    offer("nightly", 250, "still")
    refused = shed("nightly", 100, "still")
    first, *_ = remedies(viewer, refused.pk)
    assert first == "with 50 fewer total tokens: 50 instead of 100"
    assert not offer("nightly", 51, "still").admitted
    assert offer("nightly", 50, "still").admitted


def test_a_share_would_have_been_enough(viewer: Client) -> None:
    pool = gauge_pool(*CLASSES)
    offer("rescore", 450, "still")
    refused = shed("nightly", 299, "still")
    assert (
        "with 299 of an own floor left on total tokens at once: a share of at least 29.9 % "
        "instead of 0 %, neither spent nor lent"
    ) in remedies(viewer, refused.pk)
    services.cancel(Call.objects.get(state=Call.State.OPEN).pk)
    reserve(pool, "nightly", share_percent="29.9", lendable_percent=0)
    assert not offer("rescore", 450, "still").admitted
    offer("rescore", 201, "still")
    offer("adjuster", 500, "still")
    assert offer("nightly", 299, "still").admitted


def test_a_share_that_others_leave_no_room_for_is_no_way(viewer: Client) -> None:
    gauge_pool(*CLASSES)
    refused = shed("nightly", 301, "still")
    assert not any("own floor" in words for words in remedies(viewer, refused.pk))


def test_a_spent_floor_is_told_apart_from_one_that_is_too_small(viewer: Client) -> None:
    gauge_pool(*CLASSES)
    while offer("rescore", 100, "still").admitted:
        pass
    refused = shed("rescore", 150, "still")
    (words,) = [words for words in remedies(viewer, refused.pk) if "own floor" in words]
    assert words == (
        "with 150 of an own floor left on total tokens at once, which holds 200 when unspent "
        "and had 0"
    )


def test_less_headroom_would_have_been_enough(viewer: Client) -> None:
    pool = gauge_pool(
        {"workload_class": "adjuster"}, {"workload_class": "nightly", "headroom_percent": 30}
    )
    offer("adjuster", 500, "still")
    refused = shed("nightly", 333, "still")
    (words,) = [words for words in remedies(viewer, refused.pk) if "headroom" in words]
    assert words == (
        "with a headroom of at most 16.7 % instead of 30 %, or had no stricter class been at "
        "work in the 30 s before"
    )
    reserve(pool, "nightly", headroom_percent="16.71")
    assert not offer("nightly", 333, "still").admitted
    reserve(pool, "nightly", headroom_percent="16.7")
    assert offer("nightly", 333, "still").admitted


def test_a_higher_ceiling_would_have_been_enough(viewer: Client) -> None:
    pool = gauge_pool({"workload_class": "nightly", "ceiling_percent": 40})
    offer("nightly", 300, "still")
    refused = shed("nightly", 133, "still")
    assert "with a ceiling of 43.3 % instead of 40 %" in remedies(viewer, refused.pk)
    reserve(pool, "nightly", ceiling_percent="43.29")
    assert not offer("nightly", 133, "still").admitted
    reserve(pool, "nightly", ceiling_percent="43.3")
    assert offer("nightly", 133, "still").admitted


def test_a_class_that_yields_later_would_have_been_admitted(viewer: Client) -> None:
    pool = gauge_pool(
        {"workload_class": "adjuster", "share_percent": 50},
        {"workload_class": "nightly", "yields_above_percent": 50, "headroom_percent": 0},
    )
    offer("adjuster", 300, "still")
    refused = shed("nightly", 10, "still")
    assert "had its class yielded above 60.01 % instead of 50 %" in remedies(viewer, refused.pk)
    reserve(pool, "nightly", yields_above_percent="60")
    assert not offer("nightly", 10, "still").admitted
    reserve(pool, "nightly", yields_above_percent="60.01")
    assert offer("nightly", 10, "still").admitted


def test_what_is_paused_had_to_be_resumed_first(viewer: Client, claims: Pool) -> None:
    CLASS_SWITCHES["pause"].turn(WorkloadClass.objects.filter(slug="nightly"))
    refused = shed("nightly", 500)
    assert remedies(viewer, refused.pk) == ["had it not been paused"]
    assert "Paused yes" in text_of(viewer, refused.pk)


def test_several_things_may_have_been_needed_together(viewer: Client) -> None:
    gauge_pool({"workload_class": "nightly", "ceiling_percent": 40})
    offer("nightly", 300, "still")
    CLASS_SWITCHES["pause"].turn(WorkloadClass.objects.filter(slug="nightly"))
    refused = shed("nightly", 133, "still")
    smaller, eased = remedies(viewer, refused.pk)
    assert smaller == ("had it not been paused, and with 33 fewer total tokens: 100 instead of 133")
    assert eased == "had it not been paused, and with a ceiling of 43.3 % instead of 40 %"


def test_the_same_call_later_is_one_way(viewer: Client, claims: Pool) -> None:
    refused = shed("nightly", 9_000)
    assert refused.retry_after_ms
    last = remedies(viewer, refused.pk)[-1]
    assert "later, had nobody called meanwhile but those told to come back" in last


def test_on_a_gauge_later_is_an_estimate(viewer: Client) -> None:
    gauge_pool({"workload_class": "nightly"})
    offer("nightly", 900, "still")
    refused = shed("nightly", 200, "still")
    last = remedies(viewer, refused.pk)[-1]
    assert "as far as calls under way take their usual time" in last


def test_a_call_that_never_fits_is_told_what_would(viewer: Client) -> None:
    gauge_pool(*CLASSES)
    refused = shed("nightly", 5_000, "still")
    assert refused.reason == "never_fits"
    assert remedies(viewer, refused.pk) == ["with 4,700 fewer total tokens: 300 instead of 5,000"]
    assert "Retry after not to be retried" in text_of(viewer, refused.pk)


def test_an_untagged_call_needs_a_class(viewer: Client, claims: Pool) -> None:
    text = text_of(viewer, offer(None, 10).id)
    assert "Had it named a workload class, the terms of that class would have decided." in text
    assert "decided before any limit was looked at" in text


def test_a_pool_that_observes_admitted_it(viewer: Client) -> None:
    gauge_pool(*CLASSES, mode="observe")
    refused = shed("nightly", 400, "still")
    text = text_of(viewer, refused.pk)
    assert "Why this call would be shed" in text
    assert "It was admitted, because the pool only observed." in text
    assert "with 100 fewer total tokens: 300 instead of 400" in text
    assert "Under way; its lease lasts until" in text
    services.settle(refused.pk, "succeeded", 311, 22, 33)
    later = text_of(viewer, refused.pk)
    assert "Succeeded" in later
    assert "Used: 311 in, 22 out, 33 in from the cache." in later


def test_a_call_of_which_nobody_heard_again_says_so(viewer: Client, claims: Pool) -> None:
    now = datetime.now(UTC)
    lapsed = {"state": Call.State.LEASE_EXPIRED, "lease_expires": now, "lapsed_at": now}
    call = store(claims, now - timedelta(minutes=2), **lapsed)
    assert "Nobody said what it used. Its lease expired" in text_of(viewer, call.pk)


def test_an_admitted_call_is_explained_too(viewer: Client, claims: Pool) -> None:
    text = text_of(viewer, offer("adjuster", 500).id)
    assert "A call that was admitted" in text
    assert "500 fits the class's own floor of 50,000." in text
    assert "It would have been admitted" not in text


def test_decisions_on_one_call_lead_to_each_other(viewer: Client) -> None:
    gauge_pool({"workload_class": "nightly"})
    held = offer("nightly", 900, "still")
    asked = {"idempotency_key": "k1", "source": "nightly.py:3"}
    first = offer("nightly", 200, "still", **asked)
    second = offer("nightly", 200, "still", **asked)
    services.cancel(held.id)
    third = offer("nightly", 200, "still", **asked)
    assert first.id == second.id == third.id
    assert third.admitted
    page = viewer.get(address(third.id))
    newest, *earlier = page.context["decisions"]
    assert newest.words == "admitted, open"
    assert [decided.words for decided in earlier] == ["shed, pool exhausted"] * 2
    for decided in earlier:
        assert viewer.get(address(decided.id)).context["decisions"] == [newest, *earlier]
        assert address(third.id) in viewer.get(address(decided.id)).content.decode()
    services.settle(third.id, "rate_limited", 0, 0)
    assert "sent away by the provider" in text_of(viewer, earlier[0].id)


def test_a_call_that_did_not_come_back_says_so(viewer: Client, claims: Pool) -> None:
    keyed = offer("nightly", 90_000, idempotency_key="k1")
    assert "It was not offered again under its idempotency key." in text_of(viewer, keyed.id)
    keyless = offer("nightly", 90_000)
    assert "It had no idempotency key" in text_of(viewer, keyless.id)


def test_a_job_that_got_no_place_says_so(viewer: Client, claims: Pool) -> None:
    with pytest.raises(services.Shed) as refusal:
        enqueue("rescore", tokens=3_000_000, source="claims/rescore.py:7")
    text = text_of(viewer, refusal.value.admission.id)
    assert "Why this job got no place" in text
    assert "It never came into the queue." in text
    assert "would have been admitted" not in text


def test_an_attempt_leads_to_its_job(viewer: Client, claims: Pool) -> None:
    enqueue("rescore")
    job = take_one()
    page = viewer.get(address(job.call_id)).content.decode()
    assert reverse("admin:budget_job_change", args=[job.id]) in page


def test_a_version_that_is_not_on_record_is_no_obstacle(viewer: Client) -> None:
    gauge_pool(*CLASSES)
    refused = shed("nightly", 301, "still")
    PolicyRevision.objects.all().delete()
    text = text_of(viewer, refused.pk)
    assert "What it said is not on record any more." in text
    assert "with 1 fewer total tokens: 300 instead of 301" in text


def test_a_version_in_another_format_is_no_obstacle(viewer: Client) -> None:
    gauge_pool(*CLASSES)
    refused = shed("nightly", 301, "still")
    PolicyRevision.objects.update(terms={"slug": 1})
    assert "What it said is not on record any more." in text_of(viewer, refused.pk)


def test_a_call_outlives_its_pool(viewer: Client) -> None:
    pool = gauge_pool(*CLASSES)
    refused = shed("nightly", 301, "still")
    pool_id = pool.pk
    pool.delete()
    assert f"pool {pool_id}, deleted" in text_of(viewer, refused.pk)


def test_texts_of_callers_stay_texts(viewer: Client, claims: Pool) -> None:
    tags = {SCRIPT: SCRIPT, LONG[:50]: LONG}
    odd = store(
        claims, datetime.now(UTC), source=SCRIPT, tags=tags, detail=SCRIPT, workload_class=SCRIPT
    )
    page = viewer.get(address(odd.pk)).content.decode()
    assert SCRIPT not in page
    assert LONG in page


def test_its_sheds_are_one_click_away(viewer: Client, claims: Pool) -> None:
    refused = shed("nightly", 9_000, source="claims/nightly.py:3")
    page = viewer.get(address(refused.pk))
    for link in ("sheds_address", "same_source"):
        sheds = viewer.get(page.context[link])
        assert refused.pk in [entry.call.pk for entry in sheds.context["entries"]]
    assert sheds.context["question"].filters.source == "claims/nightly.py:3"
    assert sheds.context["question"].span.end - refused.offered_at < timedelta(hours=1)
