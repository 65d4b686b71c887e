"""A clock of the ledger that can be put forward, for what takes hours."""

import pytest

from budget.ledger import queries

READ = queries.READ


class Clock:
    """What the ledger takes for the present lies so many seconds ahead of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0
        self._monkeypatch = monkeypatch

    def forward(self, seconds: float) -> None:
        """Let time pass."""
        self.ahead += seconds
        shifted = f"(clock_timestamp() + interval '{self.ahead} seconds')"
        self._monkeypatch.setattr(queries, "READ", READ.replace("clock_timestamp()", shifted))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Set back afterwards; each test that uses it makes pools of its own."""
    return Clock(monkeypatch)
