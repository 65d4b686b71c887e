"""Edits of the policy wait for each other, and never in a circle."""

import threading
import time

import pytest
from django.db import connection, connections, transaction

from budget.models import Limit, Pool, Reservation, WorkloadClass
from budget.policy.document import read_document
from budget.policy.load import load
from tests.policies import CLAIMS, claims_pool

pytestmark = pytest.mark.usefixtures("committed")

EDITS = [
    "UPDATE budget_limit SET amount = 50 WHERE algorithm = 'gauge'",
    "UPDATE budget_reservation SET weight = 2",
    "UPDATE budget_workloadclass SET max_attempts = 7",
    "UPDATE budget_pool SET mode = 'observe'",
]


def _waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        return cursor.fetchone() != (0,)


@pytest.mark.parametrize("edit", EDITS)
def test_a_load_waits_for_raw_sql_under_way_and_then_sees_it(edit: str) -> None:
    claims_pool()
    reports: list[list[str]] = []

    def load_claims() -> None:
        try:
            reports.append(load(read_document(CLAIMS.read_bytes())))
        finally:
            connections.close_all()

    loading = threading.Thread(target=load_claims)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(edit)
        loading.start()
        deadline = time.monotonic() + 10
        while not _waits() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not reports
    loading.join(timeout=30)
    assert len(reports) == 1
    assert reports[0]
    assert Limit.objects.get(algorithm="gauge").amount == 40
    assert not Reservation.objects.filter(weight=2).exists()
    assert WorkloadClass.objects.filter(max_attempts=3).count() == 3
    assert Pool.objects.get().mode == "enforce"
