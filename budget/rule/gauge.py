"""The gauge."""

import msgspec

from budget.rule.decision import Charge
from budget.rule.split import Split


class Gauge(msgspec.Struct, tag="gauge"):
    """What is under way: held by open leases, given back when they end."""

    by_class: list[int]
    total: int = 0
    """Held by all classes, those since removed included."""

    def advance(self, split: Split, now: int, to: int) -> None:
        """Time alone frees nothing."""

    def ahead(self, split: Split, now: int, to: int) -> "Gauge":
        """The gauge as it would be at `to` if nothing else arrived."""
        return self

    def idle_at(self, split: Split, now: int) -> int:
        """Time alone frees nothing, so the gauge is as idle as it will get."""
        return now

    def available(self, split: Split) -> float:
        """The amount less what is held."""
        return split.capacity - self.total

    def unspent(self, split: Split) -> list[float]:
        """Each class's floor less what it holds itself."""
        return [
            max(0.0, floor - held) for floor, held in zip(split.floors, self.by_class, strict=True)
        ]

    def ceiling_left(self, split: Split, c: int) -> float:
        """The class's ceiling less what it holds."""
        return split.ceiling(c) - self.by_class[c]

    def charge(self, split: Split, c: int, amount: int, now: int) -> float:
        """Hold `amount`."""
        self._hold(c, amount)
        return 0.0

    def refund(self, split: Split, c: int | None, charge: Charge, amount: int, now: int) -> None:
        """Stop holding `amount`."""
        self._hold(c, -amount)

    def overrun(self, split: Split, c: int | None, charge: Charge, amount: int, now: int) -> None:
        """Nothing: what a call used does not matter once it is over."""

    def _hold(self, c: int | None, amount: int) -> None:
        self.total += amount
        if c is not None:
            # A class removed and made anew may settle calls it never charged.
            self.by_class[c] = max(0, self.by_class[c] + amount)
