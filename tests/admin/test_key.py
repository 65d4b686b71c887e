"""API keys: shown once, bound to something."""

from typing import Any

import pytest
from django.test import Client

from budget.models import ApiKey, Pool, WorkloadClass
from budget.policy import rows
from tests.admin.conftest import opened, url

pytestmark = pytest.mark.django_db


def test_a_new_key_is_shown_once(root: Client, claims: Pool) -> None:
    fields = opened(root, url("apikey_add")) | {"name": "batch", "reason": "new service"}
    page = root.post(url("apikey_add"), fields, follow=True).content.decode()
    record = ApiKey.objects.get()
    assert f"{record.prefix}." in page
    assert f"{record.prefix}." not in root.get(url("apikey_changelist")).content.decode()


def test_no_page_or_address_has_the_hash(root: Client, claims: Pool) -> None:
    record, _ = ApiKey.objects.create_key(name="batch")
    record.pools.add(claims)
    for address in (
        url("apikey_changelist"),
        url("apikey_change", record.pk),
        url("apikey_history", record.pk),
        url("policyhistory_changelist"),
    ):
        page = root.get(address).content.decode()
        assert record.prefix in page
        assert record.hashed_key not in page + address


def test_a_key_is_bound_to_classes_and_pools(root: Client, claims: Pool) -> None:
    nightly = WorkloadClass.objects.get(slug="nightly")
    fields = {"name": "batch", "classes": [nightly.pk], "pools": [claims.pk], "reason": "night"}
    assert root.post(url("apikey_add"), fields).status_code == 302
    record = ApiKey.objects.get()
    assert not record.all_classes
    assert [str(row) for row in record.classes.all()] == ["nightly"]
    context = rows.KEY_POOL.events.objects.get().pgh_context
    assert (context["username"], context["reason"]) == ("root", "night")


def test_a_key_for_nothing_and_a_contradiction_are_refused(root: Client, claims: Pool) -> None:
    fields = {"name": "batch", "all_pools": "on", "reason": "x"}
    assert "Choose at least one" in root.post(url("apikey_add"), fields).content.decode()
    fields |= {"all_classes": "on", "pools": [claims.pk]}
    assert "all pools” off" in root.post(url("apikey_add"), fields).content.decode()
    assert not ApiKey.objects.exists()


@pytest.mark.usefixtures("committed")
def test_no_key_is_made_revoked_or_deleted_without_a_reason(root: Client) -> None:
    fields = {"name": "batch", "all_classes": "on", "all_pools": "on"}
    assert "Say why" in root.post(url("apikey_add"), fields).content.decode()
    record, _ = ApiKey.objects.create_key(name="batch")
    address = url("apikey_change", record.pk)
    assert "Say why" in root.post(address, fields | {"revoked": "on"}).content.decode()
    root.post(url("apikey_delete", record.pk), {"post": "yes"})
    assert not ApiKey.objects.get().revoked
    root.post(address, fields | {"revoked": "on", "reason": "leaked"})
    assert ApiKey.objects.get().revoked
    history = root.get(url("apikey_history", record.pk)).context["told"]
    assert history[0].change.why == "leaked"
    assert history[0].lines == ["API key batch: revoked no → yes"]


def test_the_list_takes_no_query_per_key(
    root: Client, claims: Pool, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        record, _ = ApiKey.objects.create_key(name=f"k{number}", all_pools=False)
        record.pools.add(claims)
    with django_assert_max_num_queries(10):
        root.get(url("apikey_changelist"))
