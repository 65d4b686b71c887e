"""The lease of a call that is under way."""

import time

from budget.client.gate import Gate
from budget.client.verdict import Admitted


class Lease:
    """Lasts as long as somebody looks after it; see `Watch`."""

    def __init__(self, gate: Gate, admitted: Admitted) -> None:
        self._gate, self._admitted = gate, admitted
        self._renewed_at = time.monotonic()

    def keep(self) -> None:
        """Renew it by half of its time, once half of that is over."""
        seconds, now = self._admitted.lease_seconds, time.monotonic()
        if seconds is not None and now > self._renewed_at + seconds / 2:
            self._renewed_at = now
            self._gate.renew(self._admitted, seconds / 2)
