"""Commands on a database that has no tables yet."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import ProgrammingError
from psycopg.errors import UndefinedTable


@contextmanager
def migrated() -> Iterator[None]:
    """Raise `CommandError` in words if the tables that are read within it don't exist."""
    try:
        yield
    except ProgrammingError as error:
        if isinstance(error.__cause__, UndefinedTable):
            raise CommandError("The database has no tables yet: run migrate first.") from None
        raise
