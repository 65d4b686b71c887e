"""Pausing, switching modes, deleting: each in one step and with a reason."""

import pytest
from django.test import Client

from budget.models import Pool, Reservation, WorkloadClass
from budget.policy import rows
from tests.admin.conftest import class_url, pool_url, url

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("model", "verb", "field", "value"),
    [
        (Pool, "pause", "paused", True),
        (Pool, "resume", "paused", False),
        (Pool, "observe", "mode", "observe"),
        (Pool, "enforce", "mode", "enforce"),
        (WorkloadClass, "pause", "paused", True),
        (WorkloadClass, "resume", "paused", False),
    ],
)
def test_a_switch_asks_why_and_turns(
    editor: Client, claims: Pool, model: type, verb: str, field: str, value: object
) -> None:
    row = model.objects.first()  # type: ignore[attr-defined]
    opposite = {True: False, False: True, "observe": "enforce", "enforce": "observe"}
    model.objects.update(**{field: opposite[value]})  # type: ignore[attr-defined]
    address = url(f"{model.__name__.lower()}_switch", verb) + f"?ids={row.pk}"
    assert editor.get(address).status_code == 200
    assert editor.post(address, {"reason": " "}).status_code == 200
    row.refresh_from_db()
    assert getattr(row, field) == opposite[value]
    assert editor.post(address, {"reason": "outage"}).status_code == 302
    row.refresh_from_db()
    assert getattr(row, field) == value


def test_the_list_offers_switches_and_no_bulk_deletion(editor: Client, claims: Pool) -> None:
    page = editor.get(url("pool_changelist")).content.decode()
    assert "delete_selected" not in page
    answer = editor.post(
        url("pool_changelist"), {"action": "pause", "_selected_action": [claims.pk]}
    )
    assert answer["Location"] == url("pool_switch", "pause") + f"?ids={claims.pk}"


def test_a_switch_is_remembered(editor: Client, claims: Pool) -> None:
    address = url("pool_switch", "pause") + f"?ids={claims.pk}"
    editor.post(address, {"reason": "provider is down"})
    event = rows.POOL.events.objects.latest("pgh_id")
    assert event.paused
    assert event.pgh_context["reason"] == "provider is down"


@pytest.mark.parametrize("query", ["", "?ids=", "?ids=x", "?ids=999999999"])
def test_a_switch_of_nothing_is_not_found(editor: Client, claims: Pool, query: str) -> None:
    assert editor.get(url("pool_switch", "pause") + query).status_code == 404
    assert editor.get(url("pool_switch", "explode") + f"?ids={claims.pk}").status_code == 404


def test_a_deletion_needs_a_reason(editor: Client, claims: Pool) -> None:
    address = url("pool_delete", claims.pk)
    assert 'name="reason"' in editor.get(address).content.decode()
    editor.post(address, {"post": "yes"})
    assert Pool.objects.exists()
    editor.post(address, {"post": "yes", "reason": "account closed"})
    assert not Pool.objects.exists()
    assert not Reservation.objects.exists()
    context = rows.RESERVATION.events.objects.latest("pgh_id").pgh_context
    assert (context["username"], context["reason"]) == ("ada", "account closed")


def test_the_class_of_untagged_calls_is_protected(editor: Client, claims: Pool) -> None:
    nightly = WorkloadClass.objects.get(slug="nightly")
    Pool.objects.update(untagged_class=nightly)
    editor.post(url("workloadclass_delete", nightly.pk), {"post": "yes", "reason": "unused"})
    assert WorkloadClass.objects.filter(slug="nightly").exists()


def test_pages_offer_the_switches_that_change_something(editor: Client, claims: Pool) -> None:
    page = editor.get(pool_url(claims)).content.decode()
    assert "switch/pause/" in page
    assert "switch/observe/" in page
    assert "switch/resume/" not in page
    assert "switch/pause/" in editor.get(class_url("nightly")).content.decode()
