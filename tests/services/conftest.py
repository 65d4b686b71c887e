"""A workload class per tier, committed: the ledger reads on a connection of its own."""

import pytest

from budget.models import WorkloadClass
from tests.ledger.pools import make_classes


@pytest.fixture
def classes(committed: None) -> dict[str, WorkloadClass]:
    """One class per tier."""
    return make_classes()
