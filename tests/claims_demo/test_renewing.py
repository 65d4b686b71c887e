"""Threads go on though their connections were cut."""

import pytest
from django.db import OperationalError, connection, connections

from claims_demo.database.renewing import RenewingExecutor
from tests.claims_demo.cutting import cut_mine


def session() -> int:
    """Which one a step has."""
    connection.ensure_connection()
    assert connection.connection is not None
    return int(connection.connection.info.backend_pid)


def ask() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


@pytest.mark.usefixtures("committed")
def test_a_thread_keeps_its_connection_until_it_is_cut() -> None:
    with RenewingExecutor(max_workers=1) as threads:
        before = threads.submit(session).result()
        assert threads.submit(session).result() == before
        threads.submit(cut_mine).result()
        with pytest.raises(OperationalError):
            threads.submit(ask).result()
        threads.submit(ask).result()
        assert threads.submit(session).result() != before
        threads.submit(connections.close_all).result()
