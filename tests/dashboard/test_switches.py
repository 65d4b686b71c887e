"""Pausing, draining and resuming from the dashboard."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.messages import get_messages
from django.db import connection, connections
from django.test import Client, RequestFactory, override_settings
from django.urls import reverse

from budget import services
from budget.dashboard.switches import switch_links, turned
from budget.models import PolicyVersion, Pool, WorkloadClass
from budget.policy import rows
from budget.policy.groups import VIEWERS
from budget.services import AdmissionRequest
from tests.jobs.queueing import enqueue
from tests.policies import small_pool

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("claims")]

deciding = pytest.mark.usefixtures("committed")
"""The ledger decides on a connection of its own."""

POOL_VERBS = ["pause", "resume"]
CLASS_VERBS = ["pause", "drain", "resume"]
WHY = {"reason": "runaway loop"}


def pool_switch(verb: str, slug: str = "claims") -> str:
    return reverse("budget:switch_pool", args=[slug, verb])


def class_switch(verb: str, slug: str = "nightly") -> str:
    return reverse("budget:switch_class", args=[slug, verb])


ALL = [*map(pool_switch, POOL_VERBS), *map(class_switch, CLASS_VERBS)]


def admit(workload_class: str = "nightly", pool: str = "claims") -> str:
    """Admitted, or why not."""
    call = services.admit(
        AdmissionRequest(pool=pool, workload_class=workload_class, input_tokens=9, output_tokens=9)
    )
    return "admitted" if call.admitted else str(call.reason)


def said(answer: Any) -> list[str]:
    return [str(message) for message in get_messages(answer.wsgi_request)]


def links(client: Client, row: Pool | WorkloadClass) -> list[str]:
    """Labels of the switches that a persona is shown."""
    request = RequestFactory().get("/dashboard/claims/?range=1h")
    request.user = User.objects.get(pk=client.session["_auth_user_id"])
    return [label for label, _ in switch_links(request, row)]


def nightly() -> WorkloadClass:
    return WorkloadClass.objects.get(slug="nightly")


@pytest.mark.parametrize("address", ALL)
def test_anonymous_is_sent_to_the_login(anonymous: Client, address: str) -> None:
    for answer in (anonymous.get(address), anonymous.post(address, WHY)):
        assert answer.status_code == 302
        assert f"next={quote(address)}" in answer["Location"]
    assert not Pool.objects.filter(paused=True).exists()


@pytest.mark.parametrize("address", ALL)
def test_who_may_only_look_turns_nothing(viewer: Client, stranger: Client, address: str) -> None:
    for client in (viewer, stranger):
        assert client.get(address).status_code == 403
        assert client.post(address, WHY).status_code == 403
    assert not Pool.objects.filter(paused=True).exists()
    assert not WorkloadClass.objects.filter(paused=True).exists()


@pytest.mark.parametrize("address", ALL)
def test_whoever_is_on_call_edits_or_is_root_may(
    on_call: Client, editor: Client, root: Client, address: str
) -> None:
    for client in (on_call, editor, root):
        assert client.get(address).status_code == 200
        assert client.post(address, WHY).status_code == 302


def test_buttons_are_for_those_with_the_right(
    viewer: Client, on_call: Client, editor: Client, claims: Pool
) -> None:
    assert links(viewer, claims) == links(viewer, nightly()) == []
    for client in (on_call, editor):
        assert links(client, claims) == ["Pause…"]
        assert links(client, nightly()) == ["Pause…", "Drain…"]


def test_buttons_are_those_that_change_something(on_call: Client, claims: Pool) -> None:
    assert links(on_call, WorkloadClass.objects.get(slug="adjuster")) == ["Pause…"]
    Pool.objects.update(paused=True)
    WorkloadClass.objects.update(paused=True)
    claims.refresh_from_db()
    assert links(on_call, claims) == ["Resume…"]
    assert links(on_call, nightly()) == ["Drain…", "Resume…"]


@deciding
def test_a_paused_class_is_shed_on_all_pools_from_the_next_decision_on(on_call: Client) -> None:
    small_pool("other")
    assert admit() == admit(pool="other") == "admitted"
    assert on_call.post(class_switch("pause"), WHY).status_code == 302
    assert admit() == admit(pool="other") == "paused"
    assert admit("rescore") == "admitted"
    on_call.post(class_switch("resume"), WHY)
    assert admit() == admit(pool="other") == "admitted"


@deciding
@pytest.mark.parametrize("mode", ["enforce", "observe"])
def test_a_paused_pool_sheds_everybody(on_call: Client, mode: str) -> None:
    Pool.objects.update(mode=mode)
    on_call.post(pool_switch("pause"), WHY)
    assert {admit(slug) for slug in ("adjuster", "rescore", "nightly")} == {"paused"}
    on_call.post(pool_switch("resume"), WHY)
    assert admit("adjuster") == "admitted"


@deciding
def test_a_draining_class_takes_no_jobs_and_runs_those_it_has(on_call: Client) -> None:
    enqueue("nightly")
    on_call.post(class_switch("drain"), WHY)
    with pytest.raises(services.Shed) as refused:
        enqueue("nightly")
    assert refused.value.reason == "paused"
    assert services.queues("claims")["nightly"].depth == 1
    assert admit() == "admitted"
    on_call.post(class_switch("resume"), WHY)
    assert enqueue("nightly").position == 2


def test_it_is_remembered_with_user_address_and_reason(on_call: Client) -> None:
    on_call.post(class_switch("pause"), WHY)
    event = rows.WORKLOAD_CLASS.events.objects.latest("pgh_id")
    context = event.pgh_context
    assert event.paused
    assert (context["username"], context["address"]) == ("olga", "192.0.2.7")
    assert (context["reason"], context["url"]) == ("runaway loop", class_switch("pause"))


@pytest.mark.parametrize("reason", ["", " \t", "\0", "x" * 501])
def test_without_a_reason_nothing_is_turned(on_call: Client, reason: str) -> None:
    answer = on_call.post(class_switch("pause"), {"reason": reason})
    assert answer.status_code == 200
    assert answer.context["form"].errors["reason"]
    assert not nightly().paused


@deciding
def test_the_pages_of_a_pool_and_a_class_have_the_buttons_and_say_who_paused(
    on_call: Client, viewer: Client
) -> None:
    pages = {
        pool_switch: reverse("budget:dashboard_pool", args=["claims"]),
        class_switch: reverse("budget:dashboard_class", args=["claims", "nightly"]),
    }
    for switch, page in pages.items():
        back = f"?next={quote(page, safe='')}"
        assert f"{switch('pause')}{back}" in on_call.get(page).content.decode()
        assert "/switch/" not in viewer.get(page).content.decode()
        on_call.post(switch("pause"), WHY)
        shown = viewer.get(page).content.decode()
        assert "by olga: “runaway loop”" in shown
        assert "/switch/" not in shown
        assert f"{switch('resume')}{back}" in on_call.get(page).content.decode()


@deciding
def test_the_page_says_what_will_happen_in_numbers(on_call: Client) -> None:
    small_pool("other")
    for _ in range(3):
        admit()
    enqueue("nightly")
    answer = on_call.get(class_switch("pause"))
    page = answer.content.decode()
    assert "claims (where it has a reservation), other" in page
    (here, there) = answer.context["stakes"]
    waiting = here.queue.depth
    assert (here.pool.slug, here.offered, here.admitted, waiting) == ("claims", 4, 3, 1)
    assert (there.pool.slug, there.offered) == ("other", 0)
    pool_page = on_call.get(pool_switch("pause")).context
    assert [stake.slug for stake in pool_page["stakes"]] == [
        "adjuster",
        "chat",
        "rescore",
        "nightly",
    ]
    assert pool_page["where"] == ""


@deciding
def test_the_message_says_since_when_and_under_which_version(on_call: Client) -> None:
    answer = on_call.post(class_switch("pause"), WHY)
    version = PolicyVersion.objects.get()
    (message,) = said(answer)
    assert message.startswith("Paused: nightly. Every call is shed until it is resumed; jobs wait,")
    assert (
        f"{version.changed_at:%H:%M:%S} UTC</time>, policy version {version.version} on" in message
    )
    assert services.pool_view("claims")["policy_version"] == version.version


def test_once_more_changes_nothing_and_says_who_did_it(on_call: Client, editor: Client) -> None:
    on_call.post(class_switch("pause"), WHY)
    events = rows.WORKLOAD_CLASS.events.objects.count()
    page = editor.get(class_switch("pause")).content.decode()
    assert "olga" in page
    assert "runaway loop" in page
    assert 'name="reason"' not in page
    answer = editor.post(class_switch("pause"), {"reason": "me too"})
    assert said(answer) == ["Nothing was changed: it was so already."]
    assert rows.WORKLOAD_CLASS.events.objects.count() == events


def test_who_resumes_sees_who_paused_why_and_since_when(on_call: Client, editor: Client) -> None:
    on_call.post(class_switch("pause"), WHY)
    WorkloadClass.objects.filter(slug="nightly").update(max_attempts=9)
    WorkloadClass.objects.filter(slug="nightly").update(draining=True)
    change = editor.get(class_switch("resume")).context["turned"]
    assert (change.who, change.why) == ("olga", "runaway loop")
    editor.post(class_switch("resume"), {"reason": "fixed"})
    assert editor.get(class_switch("pause")).context["turned"] is None


def test_resuming_promises_nothing_of_callers_that_were_told_not_to_come_back(
    on_call: Client,
) -> None:
    Pool.objects.filter(slug="claims").update(paused=True)
    html = on_call.get(pool_switch("resume")).content.decode()
    assert "those whose deadline was nearer than that were told not to" in html
    assert html.count("Resume pool claims") == 2, "in the title and as the heading"
    assert '<li aria-current="page">Resume</li>' in html


def test_what_is_paused_since_it_was_made_tells_so(on_call: Client) -> None:
    Pool.objects.create(slug="night", provider="openai", paused=True)
    change = on_call.get(pool_switch("resume", "night")).context["turned"]
    assert change.entries[0].event.pgh_label == "insert"


def test_the_author_is_for_those_who_see_the_history(on_call: Client) -> None:
    on_call.post(class_switch("pause"), WHY)
    request = RequestFactory().get("/")
    request.user = User.objects.create(username="una")
    assert turned(request, nightly()) is None


@deciding
def test_two_at_once_leave_one_change(on_call: Client, editor: Client) -> None:
    def pause(client: Client) -> int:
        try:
            return client.post(class_switch("pause"), WHY).status_code
        finally:
            connections.close_all()

    before = rows.WORKLOAD_CLASS.events.objects.count()
    with ThreadPoolExecutor() as threads:
        assert list(threads.map(pause, [on_call, editor] * 4)) == [302] * 8
    assert nightly().paused
    assert rows.WORKLOAD_CLASS.events.objects.count() == before + 1


def test_a_right_that_was_lost_meanwhile_no_longer_counts(on_call: Client) -> None:
    assert on_call.get(class_switch("pause")).status_code == 200
    User.objects.get(username="olga").groups.set([Group.objects.get(name=VIEWERS)])
    assert on_call.post(class_switch("pause"), WHY).status_code == 403
    assert not nightly().paused


@pytest.mark.parametrize(
    "address",
    [
        "/dashboard/claims/switch/explode/",
        "/dashboard/claims/switch/drain/",
        "/dashboard/claims/switch/observe/",
        "/dashboard/nowhere/switch/pause/",
        "/dashboard/classes/adjuster/switch/drain/",
        "/dashboard/classes/nobody/switch/pause/",
        "/dashboard/classes/nightly/switch/enforce/",
    ],
)
def test_what_there_is_not_is_not_found(root: Client, address: str) -> None:
    assert root.get(address).status_code == 404
    assert root.post(address, WHY).status_code == 404


def test_what_was_deleted_meanwhile_is_not_found(on_call: Client, claims: Pool) -> None:
    assert on_call.get(pool_switch("pause")).status_code == 200
    claims.delete()
    assert on_call.post(pool_switch("pause"), WHY).status_code == 404


def test_other_methods_are_refused(on_call: Client) -> None:
    assert on_call.put(pool_switch("pause")).status_code == 405


def test_nothing_is_turned_from_another_site(claims: Pool) -> None:
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(User.objects.create(username="root", is_superuser=True))
    for address in ALL:
        assert careful.post(address, WHY).status_code == 403
    assert not nightly().paused


@pytest.mark.parametrize("back", ["/dashboard/claims/?range=1h", "/dashboard/classes/nightly/"])
def test_it_leads_back_to_where_one_came_from(on_call: Client, back: str) -> None:
    address = f"{class_switch('pause')}?next={quote(back)}"
    assert on_call.get(address).context["back"] == back
    assert on_call.post(address, WHY)["Location"] == back


@pytest.mark.parametrize(
    "back",
    ["", "https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "x"],
)
def test_it_never_leads_away_from_here(on_call: Client, back: str) -> None:
    for switch, page in (
        (class_switch("pause"), reverse("budget:dashboard")),
        (pool_switch("pause"), reverse("budget:dashboard_pool", args=["claims"])),
    ):
        assert on_call.post(f"{switch}?next={quote(back)}", WHY)["Location"] == page


def test_a_project_without_messages_can_pause(on_call: Client) -> None:
    with override_settings(
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ]
    ):
        assert on_call.post(class_switch("pause"), WHY).status_code == 302
    assert nightly().paused


def test_reasons_are_text_and_never_markup(on_call: Client, editor: Client) -> None:
    on_call.post(class_switch("pause"), {"reason": "<script>alert(1)</script>"})
    page = editor.get(class_switch("resume")).content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_whoever_wants_to_pause_waits_for_no_figures(
    on_call: Client, claims: Pool, settings: Any
) -> None:
    settings.BUDGET_DASHBOARD_QUERY_SECONDS = 0.3
    other = connection.copy()
    other.set_autocommit(False)
    with other.cursor() as cursor:
        cursor.execute("LOCK TABLE budget_usageminute IN ACCESS EXCLUSIVE MODE")
    answer = on_call.get(pool_switch("pause"))
    other.close()
    assert answer.status_code == 200
    assert "Reason" in answer.content.decode()
