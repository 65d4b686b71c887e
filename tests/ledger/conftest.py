"""A workload class per tier, committed: the ledger reads on a connection of its own."""

import logging

import pytest

from budget.models import Pool, WorkloadClass
from tests.ledger.pools import WIDE_WINDOW, make_classes, make_pool


@pytest.fixture
def classes(committed: None) -> dict[str, WorkloadClass]:
    """One class per tier."""
    return make_classes()


@pytest.fixture
def pool(classes: dict[str, WorkloadClass]) -> Pool:
    """A pool with a window of 100,000 tokens and nothing else."""
    return make_pool(WIDE_WINDOW)


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """The ledger logs what is done to it; tests that do it need not see that."""
    caplog.set_level(logging.CRITICAL, logger="budget.ledger")
