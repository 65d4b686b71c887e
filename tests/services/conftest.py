"""What is committed, since the ledger reads on a connection of its own; and a gate to it."""

from collections.abc import Iterator

import pytest

from budget.models import Pool, WorkloadClass
from budget.services.gate import LedgerGate
from tests.ledger.pools import make_classes, make_pool
from tests.services.gated import TOKENS, UNDER_WAY


@pytest.fixture
def classes(committed: None) -> dict[str, WorkloadClass]:
    """One class per tier."""
    return make_classes()


@pytest.fixture
def pool(classes: dict[str, WorkloadClass]) -> Pool:
    return make_pool(TOKENS, UNDER_WAY, shares={"adjuster": 50, "rescore": 20})


@pytest.fixture
def gate(pool: Pool) -> Iterator[LedgerGate]:
    gate = LedgerGate()
    yield gate
    gate.close()
