"""API keys: shown once, bound to something."""

import pytest
from django.test import Client

from budget.models import ApiKey, Pool, WorkloadClass
from budget.policy import rows
from tests.admin.conftest import opened, url

pytestmark = pytest.mark.django_db


def test_a_new_key_is_shown_once(root: Client, claims: Pool) -> None:
    fields = opened(root, url("apikey_add")) | {"name": "batch"}
    page = root.post(url("apikey_add"), fields, follow=True).content.decode()
    record = ApiKey.objects.get()
    assert f"{record.prefix}." in page
    again = root.get(url("apikey_changelist")).content.decode()
    assert f"{record.prefix}." not in again.replace(f"/{record.prefix}.", "")


def test_a_key_is_bound_to_classes_and_pools(root: Client, claims: Pool) -> None:
    nightly = WorkloadClass.objects.get(slug="nightly")
    fields = {"name": "batch", "classes": [nightly.pk], "pools": [claims.pk]}
    assert root.post(url("apikey_add"), fields).status_code == 302
    record = ApiKey.objects.get()
    assert not record.all_classes
    assert [str(row) for row in record.classes.all()] == ["nightly"]
    assert rows.KEY_POOL.events.objects.get().pgh_context["username"] == "root"


def test_a_key_for_nothing_and_a_contradiction_are_refused(root: Client, claims: Pool) -> None:
    page = root.post(url("apikey_add"), {"name": "batch", "all_pools": "on"}).content.decode()
    assert "Choose at least one" in page
    fields = {"name": "b", "all_classes": "on", "all_pools": "on", "pools": [claims.pk]}
    assert "all pools” off" in root.post(url("apikey_add"), fields).content.decode()
    assert not ApiKey.objects.exists()
