"""How long one look at the past may keep a thread of the web server, and the database, busy."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from budget import conf

BOUND = "SELECT set_config('statement_timeout', %s, true)"


@contextmanager
def bounded() -> Iterator[CursorWrapper]:
    """A transaction in which no statement takes longer than `conf.dashboard_query_seconds`.

    One that would is cancelled by the database, and raises OperationalError.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(BOUND, [f"{round(1000 * conf.dashboard_query_seconds())}ms"])
        yield cursor
