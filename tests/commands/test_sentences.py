"""Commands that can't do what they were asked say so in a sentence."""

import pytest
from django.core.management.base import CommandError
from django.db import connection

from tests.commands.conftest import Run


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["prune_calls", "--days", "9999999999"], "--days must be at most"),
        (["rerun_decisions", "claims", "--minutes", "99999999999"], "--minutes must be between"),
        (["rerun_decisions", "claims", "--minutes", "0"], "--minutes must be between"),
    ],
)
def test_a_number_out_of_range_is_refused(run: Run, words: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        run(*words)


@pytest.mark.django_db
def test_a_database_without_tables_is_to_be_migrated(run: Run) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE budget_workloadclass RENAME TO elsewhere")
    with pytest.raises(CommandError, match="run migrate first"):
        run("dump_policy")
