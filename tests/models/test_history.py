"""Every edit of a policy table is remembered, whoever makes it and however."""

from typing import Any

import pghistory
import pgtrigger
import pytest
from django.db import Error, connection, transaction

from budget.models import ApiKey, Limit, PolicyVersion, Pool, Reservation, WorkloadClass
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


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (rows.POOL, "base_url", "https://gateway.internal"),
        (rows.POOL, "batch", True),
        (rows.POOL, "batch_max_requests", 7),
        (rows.POOL, "batch_max_bytes", 2048),
        (rows.POOL, "batch_collect_seconds", 0),
        (rows.POOL, "batch_window_hours", 1),
        (rows.LIMIT, "of_batch", True),
        (rows.WORKLOAD_CLASS, "draining", True),
    ],
)
def test_every_field_about_jobs_is_remembered(kind: rows.Kind, field: str, value: object) -> None:
    small_pool()
    kind.model._default_manager.update(**{field: value})
    assert labels(kind) == ["insert", "update"]
    assert getattr(kind.events.objects.latest("pgh_id"), field) == value


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


def test_the_hash_of_an_api_key_is_in_no_event() -> None:
    pool = small_pool()
    key, _ = ApiKey.objects.create_key(name="rescorer")
    key.pools.add(pool)
    key.classes.add(WorkloadClass.objects.get())
    key.delete()
    for kind in rows.ALL:
        for values in kind.events.objects.values_list():
            assert not any(key.hashed_key in str(value) for value in values)


def test_every_trigger_is_firm() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgname, prosecdef, proconfig, prosrc FROM pg_trigger "
            "JOIN pg_proc p ON p.oid = tgfoid JOIN pg_class c ON c.oid = tgrelid "
            "WHERE relname LIKE 'budget\\_%' AND NOT tgisinternal"
        )
        triggers = cursor.fetchall()
    assert len(triggers) > 40
    for name, as_owner, settings, source in triggers:
        assert as_owner, name
        assert settings == ["search_path=public, pg_temp"], name
        assert "should_ignore" not in source, name


def test_ignoring_triggers_changes_nothing() -> None:
    pool = small_pool()
    version = PolicyVersion.objects.get().version
    nightly = WorkloadClass.objects.create(slug="nightly", tier="bulk", deadline_seconds=3600)
    with pgtrigger.ignore():
        Limit.objects.update(amount=700)
        assert rows.LIMIT.events.objects.latest("pgh_id").amount == 700
        assert PolicyVersion.objects.get().version > version
        with pytest.raises(Error, match="Cannot update or delete"), transaction.atomic():
            rows.LIMIT.events.objects.update(pgh_label="x")
        with pytest.raises(Error, match="add up to"):
            Reservation.objects.create(pool=pool, workload_class=nightly, share_percent=61)


def test_an_unchanged_save_is_no_event() -> None:
    small_pool()
    Pool.objects.get().save()
    Reservation.objects.get().save()
    assert labels(rows.POOL) == ["insert"]
    assert labels(rows.RESERVATION) == ["insert"]
