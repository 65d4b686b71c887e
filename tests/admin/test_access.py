"""Who gets to see and do what."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from budget.ledger.clock import micros
from budget.models import ApiKey, Pool, WorkloadClass
from budget.policy import rows
from tests.admin.conftest import class_url, pool_url, url

pytestmark = pytest.mark.django_db

LISTS = [
    "pool_changelist",
    "workloadclass_changelist",
    "call_changelist",
    "job_changelist",
    "jobbatch_changelist",
    "usageminute_changelist",
    "policyhistory_changelist",
    "untaggedcaller_changelist",
    "callerprocess_changelist",
    "awayreport_changelist",
]


@pytest.mark.parametrize("page", [*LISTS, "apikey_changelist", "pool_add"])
def test_anonymous_is_sent_to_the_login(anonymous: Client, page: str) -> None:
    answer = anonymous.get(url(page))
    assert answer.status_code == 302
    assert "/login/" in answer["Location"]


@pytest.mark.parametrize("page", [*LISTS, "apikey_changelist", "pool_add"])
def test_staff_without_a_permission_get_nothing(staff: Client, page: str) -> None:
    assert staff.get(url(page)).status_code == 403


@pytest.mark.parametrize("page", LISTS)
def test_viewers_and_editors_may_look(viewer: Client, editor: Client, page: str) -> None:
    assert viewer.get(url(page)).status_code == 200
    assert editor.get(url(page)).status_code == 200


@pytest.mark.parametrize("page", ["apikey_changelist", "apikey_add"])
def test_keys_are_for_superusers(editor: Client, root: Client, page: str) -> None:
    assert editor.get(url(page)).status_code == 403
    assert root.get(url(page)).status_code == 200


def test_a_viewer_sees_a_pool_and_a_class_without_any_button(viewer: Client, claims: Pool) -> None:
    for address in (pool_url(claims), class_url("nightly")):
        page = viewer.get(address).content.decode()
        assert 'name="_save"' not in page
        assert 'name="reason"' not in page
        assert "/switch/" not in page


def edits(pool: Pool) -> list[str]:
    """The addresses that change something when posted to."""
    limit = rows.LIMIT.events.objects.latest("pgh_id")
    nightly = WorkloadClass.objects.get(slug="nightly")
    return [
        pool_url(pool),
        url("pool_add"),
        url("pool_delete", pool.pk),
        *[
            url("pool_switch", verb) + f"?ids={pool.pk}"
            for verb in ("pause", "resume", "observe", "enforce")
        ],
        class_url("nightly"),
        url("workloadclass_add"),
        url("workloadclass_delete", nightly.pk),
        *[
            url("workloadclass_switch", verb) + f"?ids={nightly.pk}"
            for verb in ("pause", "drain", "resume")
        ],
        url("policyhistory_revert", limit.transaction, micros(limit.pgh_created_at)),
    ]


FIELDS = {"post": "yes", "reason": "x", "slug": "forged", "provider": "openai"}


def test_a_viewer_changes_nothing(viewer: Client, claims: Pool) -> None:
    for address in edits(claims):
        assert viewer.post(address, FIELDS).status_code == 403, address
    for verb in ("pause", "observe"):
        assert viewer.get(url("pool_switch", verb) + f"?ids={claims.pk}").status_code == 403
    claims.refresh_from_db()
    assert not claims.paused


PAUSES = ("pause", "drain", "resume")


def test_whoever_is_on_call_pauses_drains_and_resumes(on_call: Client, claims: Pool) -> None:
    for address in edits(claims):
        allowed = any(f"/switch/{verb}/" in address for verb in PAUSES)
        assert on_call.post(address, FIELDS).status_code == (302 if allowed else 403), address
    event = rows.WORKLOAD_CLASS.events.objects.latest("pgh_id")
    assert (event.pgh_context["username"], event.pgh_context["reason"]) == ("olga", "x")


def test_whoever_is_on_call_sees_the_buttons_for_that(on_call: Client, claims: Pool) -> None:
    for address, verbs in (
        (pool_url(claims), ["pause"]),
        (class_url("nightly"), ["pause", "drain"]),
        (class_url("adjuster"), ["pause"]),
    ):
        page = on_call.get(address).content.decode()
        assert re.findall(r"/switch/(\w+)/", page) == verbs
        assert 'name="_save"' not in page


@pytest.mark.parametrize(
    ("page", "verbs"),
    [("pool_changelist", ["pause", "resume"]), ("workloadclass_changelist", [*PAUSES])],
)
def test_whoever_is_on_call_has_the_actions_for_that(
    on_call: Client, claims: Pool, page: str, verbs: list[str]
) -> None:
    form = on_call.get(url(page)).context["action_form"]
    assert [verb for verb, _ in form.fields["action"].choices if verb] == verbs


def test_a_viewer_has_no_actions(viewer: Client, claims: Pool) -> None:
    answer = viewer.post(
        url("pool_changelist"), {"action": "pause", "_selected_action": [claims.pk]}
    )
    assert answer.status_code == 403 or "/switch/" not in answer.get("Location", "")


def test_nothing_is_changed_from_another_site(root: Client, claims: Pool) -> None:
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(User.objects.get(username="root"))
    key, _ = ApiKey.objects.create_key(name="batch")
    keys = [url("apikey_add"), url("apikey_delete", key.pk)]
    for address in [*edits(claims), *keys, url("pool_changelist")]:
        assert careful.post(address, FIELDS).status_code == 403, address
    claims.refresh_from_db()
    assert not claims.paused
    assert ApiKey.objects.get() == key


@pytest.mark.parametrize("page", ["call_add", "job_add", "jobbatch_add", "usageminute_add"])
def test_nobody_writes_records(root: Client, page: str) -> None:
    assert root.get(url(page)).status_code == 403
