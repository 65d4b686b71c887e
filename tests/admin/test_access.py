"""Who gets to see and do what."""

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.test import Client

from budget.models import Pool
from budget.policy.groups import EDITORS, VIEWERS
from tests.admin.conftest import class_url, pool_url, url

pytestmark = pytest.mark.django_db

LISTS = [
    "pool_changelist",
    "workloadclass_changelist",
    "call_changelist",
    "usageminute_changelist",
    "policyhistory_changelist",
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


@pytest.mark.parametrize("verb", ["pause", "observe"])
def test_a_viewer_changes_nothing(viewer: Client, claims: Pool, verb: str) -> None:
    assert viewer.post(pool_url(claims), {"reason": "x"}).status_code == 403
    assert viewer.post(f"{pool_url(claims)[:-7]}delete/", {"reason": "x"}).status_code == 403
    switch = url("pool_switch", verb) + f"?ids={claims.pk}"
    assert viewer.post(switch, {"reason": "x"}).status_code == 403
    assert viewer.get(switch).status_code == 403
    claims.refresh_from_db()
    assert not claims.paused


@pytest.mark.parametrize("page", ["call_add", "usageminute_add"])
def test_nobody_writes_records(root: Client, page: str) -> None:
    assert root.get(url(page)).status_code == 403


def test_groups_keep_what_an_administrator_took_from_them() -> None:
    editors = Group.objects.get(name=EDITORS)
    editors.permissions.clear()
    Group.objects.get(name=VIEWERS).delete()
    call_command("migrate", verbosity=0)
    assert not editors.permissions.exists()
    assert Group.objects.get(name=VIEWERS).permissions.filter(codename="view_pool").exists()
