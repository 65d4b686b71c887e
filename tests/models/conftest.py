"""Tests that commit."""

from tests.committed import _deleting, committed

__all__ = ["_deleting", "committed"]
