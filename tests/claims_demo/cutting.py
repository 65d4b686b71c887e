"""Cut connections to the database, as a restart of it or a failing network does."""

from django.db import connection

from tests.ledger.disturbances import bystander


def cut_mine() -> None:
    """End the session of this thread."""
    assert connection.connection is not None
    with bystander() as other:
        pid = connection.connection.info.backend_pid
        assert other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,)).fetchone() == (True,)
