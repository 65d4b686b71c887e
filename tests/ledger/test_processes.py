"""Several processes on one ledger."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

from tests.ledger.child import Child
from tests.ledger.pools import admit, available, make_pool

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("classes")]

WINDOW = {"unit": "total_tokens", "algorithm": "sliding_window", "amount": 20_000}


@contextmanager
def two(action: str, *arguments: object) -> Iterator[list[object]]:
    """What two processes say that do the same at once."""
    children = [Child(connection.settings_dict["NAME"], action, *arguments) for _ in range(2)]
    try:
        assert [child.hear() for child in children] == ["ready", "ready"]
        for child in children:
            child.go()
        yield [child.hear() for child in children]
    finally:
        for child in children:
            child.end()


def test_two_processes_share_one_allowance() -> None:
    make_pool(WINDOW)
    with two("admit_many", 160, 100) as admitted:
        assert sum(admitted) == 200
        assert all(admitted)
    assert available() == 0


def test_two_processes_that_settle_one_call_at_once_count_it_once() -> None:
    make_pool(WINDOW)
    call = admit(tokens=10_000)
    with two("settle", call.id, 4000) as refunds:
        assert refunds == [{"total_tokens": 6000}] * 2
    assert available() == 16_000
