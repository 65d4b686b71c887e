"""The sliding window."""

from bisect import bisect_left

import msgspec

from budget.rule.decision import Charge
from budget.rule.split import Split

SLOTS = 60
"""Slots of a window. A slot counts until it is wholly outside the window."""


class Slot(msgspec.Struct, array_like=True):
    """A sixtieth of a window."""

    index: int
    total: int
    by_class: list[int]


class Window(msgspec.Struct, tag="sliding_window"):
    """What was charged within the last period."""

    by_class: list[int]
    total: int = 0
    """Charges of all classes, those since removed included."""
    slots: list[Slot] = []
    merged_at: int = 0
    """When an edit of the period merged all slots into one: which of the charges up to then
    still counted is not known any more, so none of them is refunded."""

    def advance(self, split: Split, now: int, to: int) -> None:
        """Forget slots that are wholly outside the window that ends at `to`."""
        oldest = slot_index(split, to) - SLOTS
        while self.slots and self.slots[0].index < oldest:
            gone = self.slots.pop(0)
            self.total -= gone.total
            self.by_class = [n - m for n, m in zip(self.by_class, gone.by_class, strict=True)]

    def ahead(self, split: Split, now: int, to: int) -> "Window":
        """The window as it would be at `to` if nothing else arrived."""
        later = Window(self.by_class, self.total, list(self.slots), self.merged_at)
        later.advance(split, now, to)
        return later

    def idle_at(self, split: Split, now: int) -> int:
        """When the newest charge leaves the window."""
        if not self.slots:
            return now
        return -(-(self.slots[-1].index + SLOTS + 1) * split.period // SLOTS)

    def available(self, split: Split) -> float:
        """The amount less what was charged in the window."""
        return split.capacity - self.total

    def unspent(self, split: Split) -> list[float]:
        """Each class's floor less its own charges in the window."""
        return [
            max(0.0, floor - used) for floor, used in zip(split.floors, self.by_class, strict=True)
        ]

    def ceiling_left(self, split: Split, c: int) -> float:
        """The class's ceiling less its own charges in the window."""
        return split.ceiling(c) - self.by_class[c]

    def charge(self, split: Split, c: int, amount: int, now: int) -> float:
        """Count `amount` in the current slot."""
        index = slot_index(split, now)
        if not self.slots or self.slots[-1].index != index:
            self.slots.append(Slot(index, 0, [0] * len(self.by_class)))
        self._count(self.slots[-1], c, amount)
        return 0.0

    def refund(self, split: Split, c: int | None, charge: Charge, amount: int, now: int) -> None:
        """Take `amount` out of the slot of the charge, if it still counts."""
        if charge.at <= self.merged_at:
            return
        index = slot_index(split, charge.at)
        for slot in self.slots:
            if slot.index == index:
                self._count(slot, c, -amount)

    def overrun(self, split: Split, c: int | None, charge: Charge, amount: int, now: int) -> None:
        """Add `amount` to the slot of the charge, if it still counts.

        There may be none yet: the call estimated nothing, or the period was edited.
        """
        index = slot_index(split, charge.at)
        if index < slot_index(split, now) - SLOTS:
            return
        place = bisect_left(self.slots, index, key=lambda slot: slot.index)
        if place == len(self.slots) or self.slots[place].index != index:
            self.slots.insert(place, Slot(index, 0, [0] * len(self.by_class)))
        self._count(self.slots[place], c, amount)

    def _count(self, slot: Slot, c: int | None, amount: int) -> None:
        slot.total += amount
        self.total += amount
        if c is not None:
            # A class removed and made anew may settle calls it never charged.
            amount = max(amount, -slot.by_class[c])
            slot.by_class[c] += amount
            self.by_class[c] += amount


def slot_index(split: Split, at: int) -> int:
    """The slot that the moment `at` falls into."""
    return at * SLOTS // split.period
