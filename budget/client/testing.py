"""A gate with a script, so that callers can test what their code does when it is shed.

`pytest_plugins = ["budget.client.testing"]` in the topmost conftest gives the fixture
`budget_gate`; elsewhere, `with scripted() as gate:` is the same. It takes the place of every
other gate of the process, also for clients that were made before:

    def test_a_shed_question_is_answered_later(budget_gate):
        budget_gate.shed("floor_protected")
        assert ask("Is water damage covered?") == "Come back later."
        (asked,) = budget_gate.asks
        assert asked.workload_class == "adjuster"

Calls that aren't shed are made: give the SDK a transport of your own as `inner`.
"""

import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from budget.client import stand_in
from budget.client.refusal import status_of
from budget.client.shared import KEY_VARIABLE, URL_VARIABLE
from budget.client.verdict import Admitted, Ask, Ending, Refused, Verdict
from budget.providers.standing import Standing

DENIED = 403
REASONS = (
    "paused",
    "untagged",
    "never_fits",
    "deadline_unmeetable",
    "provider_backoff",
    "yielding",
    "ceiling",
    "pool_exhausted",
    "floor_protected",
    "headroom",
    "away",
)
"""Why calls are shed."""


class ScriptedGate:
    """Admits every call, but for what it was told to do with the next ones."""

    def __init__(self) -> None:
        self.asks: list[Ask] = []
        """What was asked, in order; asked again after a wait, it stands there again."""
        self.endings: list[tuple[Ask, Ending]] = []
        """How admitted calls ended."""
        self.standings: list[Standing] = []
        self._script: deque[tuple[int, str, str, int | None]] = deque()

    def shed(
        self, reason: str = "headroom", retry_after: float | None = None, times: int = 1
    ) -> None:
        """Shed the next calls; `retry_after` is in seconds, None: they need not come back.

        As outside of tests, a call whose deadline allows it waits so long, and asks again.
        Raises ValueError for a reason that calls are never shed for.
        """
        if reason not in REASONS:
            raise ValueError(f"reason: {reason!r} is none of {', '.join(REASONS)}.")
        again = None if retry_after is None else max(1, round(1000 * retry_after))
        said = f"Shed by a script: {reason}."
        self._script.extend([(status_of(reason), reason, said, again)] * times)

    def deny(self, detail: str = "This key may not use the class.", times: int = 1) -> None:
        """Answer the next calls as a service does that doesn't accept the key."""
        self._script.extend([(DENIED, "", detail, None)] * times)

    def admit(self, ask: Ask) -> Verdict:
        """The script's decision; see `Gate`."""
        self.asks.append(ask)
        try:
            status, reason, detail, again = self._script.popleft()
        except IndexError:
            return Admitted(str(uuid4()), ask)
        return Refused(ask, status, reason, detail, again)

    async def admit_async(self, ask: Ask, user: object) -> Verdict:
        """As `admit`."""
        return self.admit(ask)

    async def leave(self, user: object) -> None:
        """Nothing was opened."""

    def settle(self, admitted: Admitted, ending: Ending) -> None:
        """Keep how a call ended."""
        self.endings.append((admitted.ask, ending))

    def renew(self, admitted: Admitted, seconds: float) -> None:
        """Leases don't end here."""

    def observe(self, pool: str, standing: Standing) -> None:
        """Keep what a provider said."""
        self.standings.append(standing)


@contextmanager
def scripted() -> Iterator[ScriptedGate]:
    """A gate that stands in for every other one while the block runs."""
    gate, before = ScriptedGate(), stand_in.present()
    stand_in.put(gate)
    try:
        yield gate
    finally:
        stand_in.put(before)


try:
    import pytest
except ImportError:  # pragma: no cover - then there are no fixtures either
    pass
else:

    def pytest_configure() -> None:
        """Let clients be made as modules are imported: before any test there is no service."""
        os.environ.setdefault(URL_VARIABLE, "http://budget.invalid")
        os.environ.setdefault(KEY_VARIABLE, "of-a-test")

    @pytest.fixture
    def budget_gate() -> Iterator[ScriptedGate]:
        """A gate that stands in for every other one during the test."""
        with scripted() as gate:
            yield gate
