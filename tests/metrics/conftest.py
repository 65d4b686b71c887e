"""Metrics are read by connections of their own: what they tell of is committed."""

import pytest

from tests.committed import _deleting, committed

__all__ = ["_deleting", "committed"]


@pytest.fixture(autouse=True)
def _committed(committed: None) -> None:
    """Each statement commits, as outside of tests."""
