"""Metrics are read by connections of their own: what they tell of is committed."""

import pytest


@pytest.fixture(autouse=True)
def _committed(committed: None) -> None:
    """Each statement commits, as outside of tests."""
