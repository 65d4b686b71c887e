"""Every edit of a policy table is remembered, whoever makes it and however."""

from typing import Any

import pghistory
import pytest
from django.db import Error, connection, transaction

from budget.models import ApiKey, Limit, Pool, Reservation, WorkloadClass
from budget.policy import rows
from tests.policies import small_pool

pytestmark = pytest.mark.usefixtures("committed")


def labels(kind: rows.Kind) -> list[str]:
    return list(kind.events.objects.order_by("pgh_id").values_list("pgh_label", flat=True))


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def test_insert_update_and_delete_are_remembered() -> None:
    pool = small_pool()
    Limit.objects.update(amount=700)
    pool.delete()
    assert labels(rows.POOL) == ["insert", "delete"]
    assert labels(rows.LIMIT) == ["insert", "update", "delete"]
    assert labels(rows.RESERVATION) == ["insert", "delete"]


def test_raw_sql_is_remembered_with_the_database_role() -> None:
    small_pool()
    run("UPDATE budget_limit SET amount = 700")
    event = rows.LIMIT.events.objects.latest("pgh_id")
    with connection.cursor() as cursor:
        cursor.execute("SELECT session_user")
        assert event.db_role == cursor.fetchone()[0]
    assert event.amount == 700
    assert event.pgh_context is None


def test_truncate_is_remembered_as_deletion_of_every_row() -> None:
    small_pool()
    run("TRUNCATE budget_pool, budget_limit, budget_reservation, budget_workloadclass CASCADE")
    for kind in rows.POLICY:
        assert labels(kind) == ["insert", "delete"]


def test_context_is_stored_in_the_event_itself() -> None:
    small_pool()
    with pghistory.context(username="ada", reason="storm"):
        Limit.objects.update(amount=700)
    event = rows.LIMIT.events.objects.latest("pgh_id")
    assert event.pgh_context == {"username": "ada", "reason": "storm"}


@pytest.mark.parametrize("kind", rows.ALL, ids=lambda kind: kind.label)
@pytest.mark.parametrize("verb", ["update", "delete"])
def test_events_can_be_neither_edited_nor_deleted(kind: rows.Kind, verb: str) -> None:
    pool = small_pool()
    key, _ = ApiKey.objects.create_key(name="rescorer")
    key.pools.add(pool)
    key.classes.add(WorkloadClass.objects.get())
    events: Any = kind.events.objects
    assert events.exists()
    with pytest.raises(Error, match="Cannot update or delete"), transaction.atomic():
        events.update(pgh_label="x") if verb == "update" else events.all().delete()


def test_an_api_keys_history_keeps_no_hash_column() -> None:
    key, _ = ApiKey.objects.create_key(name="rescorer")
    assert not hasattr(rows.API_KEY.events, "hashed_key")
    assert rows.API_KEY.events.objects.get().pgh_obj_id == key.pk


def test_an_unchanged_save_is_no_event() -> None:
    small_pool()
    Pool.objects.get().save()
    Reservation.objects.get().save()
    assert labels(rows.POOL) == ["insert"]
    assert labels(rows.RESERVATION) == ["insert"]
