"""The demo's accounts, and the policy it begins with."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from budget.models import Pool, WorkloadClass
from claims_demo.accounts import demo_accounts
from tests.claims_demo.world import put_policy_into_force

pytestmark = pytest.mark.django_db


def test_each_account_has_its_rights_and_no_others() -> None:
    demo_accounts()
    users = {user.username: user for user in User.objects.all()}
    may = {
        name: {
            permission
            for permission in ("budget.change_pool", "budget.pause_pool", "budget.view_pool")
            if user.has_perm(permission)
        }
        for name, user in users.items()
    }
    assert may == {
        "demo-editor": {"budget.change_pool", "budget.pause_pool", "budget.view_pool"},
        "demo-oncall": {"budget.pause_pool", "budget.view_pool"},
        "demo-viewer": {"budget.view_pool"},
        "demo-adjuster": set(),
    }
    assert {name for name, user in users.items() if user.is_staff} == set(users) - {"demo-adjuster"}
    assert not users["demo-adjuster"].get_all_permissions()


def test_each_demo_begins_with_new_passwords_and_the_first_rights() -> None:
    before = {account.username: account.password for account in demo_accounts()}
    User.objects.filter(username="demo-adjuster").update(is_staff=True, is_active=False)
    after = {account.username: account.password for account in demo_accounts()}
    for username, password in after.items():
        assert password != before[username]
        assert Client().login(username=username, password=password)
    assert not User.objects.get(username="demo-adjuster").is_staff


def test_the_demos_policy_is_sound_and_uses_the_batch_endpoint() -> None:
    pool = put_policy_into_force("")
    classes = {one.slug: one for one in WorkloadClass.objects.all()}
    assert list(classes) == ["adjuster", "rescore", "nightly"]
    assert (pool.provider, pool.mode, pool.batch) == ("anthropic", "enforce", True)
    assert pool.batch_window_hours * 3600 < classes["nightly"].deadline_seconds
    assert Pool.objects.get().limits.filter(of_batch=True).exists()
