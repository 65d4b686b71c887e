"""Jobs commit: every test of them leaves an empty database behind."""

import pytest

from tests.committed import _deleting, committed

__all__ = ["_deleting", "committed"]


@pytest.fixture(autouse=True)
def _committed(committed: None) -> None:
    """Each statement commits, as outside of tests."""
