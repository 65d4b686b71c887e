"""The groups after migrate."""

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command

from budget.policy.groups import EDITORS, ON_CALL, VIEWERS

pytestmark = pytest.mark.django_db


def codenames(group: str) -> set[str]:
    found = Permission.objects.filter(group__name=group, content_type__app_label="budget")
    return set(found.values_list("codename", flat=True))


def test_viewers_look_and_editors_edit_the_policy() -> None:
    assert all(name.startswith("view_") for name in codenames(VIEWERS))
    assert codenames(VIEWERS) < codenames(EDITORS)
    assert {"add_pool", "change_limit", "delete_reservation"} <= codenames(EDITORS)
    assert not any("apikey" in name for name in codenames(EDITORS))


def test_viewers_see_jobs_and_editors_may_cancel_one() -> None:
    assert {"view_job", "view_jobbatch"} <= codenames(VIEWERS)
    assert {name for name in codenames(EDITORS) if "job" in name and "view" not in name} == {
        "change_job"
    }


def test_whoever_is_on_call_sees_everything_and_pauses() -> None:
    assert codenames(VIEWERS) < codenames(ON_CALL) < codenames(EDITORS)
    assert codenames(ON_CALL) - codenames(VIEWERS) == {
        "pause_pool",
        "pause_workloadclass",
        "change_job",
    }


def test_what_an_administrator_took_or_gave_stays() -> None:
    Group.objects.get(name=EDITORS).permissions.clear()
    extra = Permission.objects.get(content_type__app_label="budget", codename="view_apikey")
    Group.objects.get(name=VIEWERS).permissions.add(extra)
    call_command("migrate", verbosity=0)
    assert codenames(EDITORS) == set()
    assert "view_apikey" in codenames(VIEWERS)


def test_a_missing_group_comes_back() -> None:
    before = codenames(VIEWERS)
    Group.objects.get(name=VIEWERS).delete()
    call_command("migrate", verbosity=0)
    assert codenames(VIEWERS) == before


def test_new_permissions_reach_groups_that_exist() -> None:
    editors = Group.objects.get(name=EDITORS)
    editors.permissions.remove(Permission.objects.get(codename="delete_pool"))
    Permission.objects.filter(codename__in=["view_call", "change_limit"]).delete()
    call_command("migrate", verbosity=0)
    assert "view_call" in codenames(VIEWERS)
    assert {"view_call", "change_limit"} <= codenames(EDITORS)
    assert "delete_pool" not in codenames(EDITORS)


def test_a_group_the_project_had_before_the_app_gets_them_too() -> None:
    Permission.objects.filter(content_type__app_label="budget").delete()
    call_command("migrate", verbosity=0)
    assert {"view_pool", "view_policyhistory"} <= codenames(VIEWERS)
    assert "add_pool" in codenames(EDITORS)
