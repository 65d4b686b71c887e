"""Committed rows, since the ledger reads them on a connection of its own."""

from collections.abc import Iterator

import pytest

from budget.ledger.writers import stop_writers
from budget.models import WorkloadClass
from tests.ledger.pools import make_classes


@pytest.fixture(autouse=True)
def _own_writers() -> Iterator[None]:
    yield
    stop_writers()


@pytest.fixture
def classes(transactional_db: None) -> dict[str, WorkloadClass]:
    return make_classes()
