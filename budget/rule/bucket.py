"""The token bucket."""

import msgspec

from budget.rule.decision import Charge
from budget.rule.floors import fill
from budget.rule.meter import Meter
from budget.rule.split import Split


class Bucket(msgspec.Struct, tag="token_bucket"):
    """A level with one credit per class: the unspent part of its floor."""

    meter: Meter
    credits: list[float]
    ceilings: dict[int, Meter] = {}
    """A second, smaller level for each class that has a ceiling."""

    def advance(self, split: Split, now: int, to: int) -> None:
        """Refill for the time from `now` to `to`."""
        gain = split.rate * (to - now)
        if split.reserved:
            if gain >= split.capacity - self.meter.level:
                self.credits = list(split.floors)
            else:
                self._refill_credits(split, gain)
        self.meter.refill(gain, split.capacity)
        for c, meter in self.ceilings.items():
            meter.refill(split.ceilings[c] * gain, split.ceiling(c))

    def _refill_credits(self, split: Split, gain: float) -> None:
        """Credits grow at share × rate until the unreserved part is full, then take all.

        Else the unreserved part would outgrow its size while credits still fill, and
        what looser classes may use would shrink again later, with nobody calling.
        """
        credits, floors, shares = self.credits, split.floors, split.shares
        missing = split.unreserved - (self.meter.level - sum(credits))
        while gain > 0:
            unfilled = [c for c, floor in enumerate(floors) if credits[c] < floor]
            if not unfilled:
                return
            if missing <= 0:
                fill(credits, floors, shares, gain)
                return
            flow = 1 - sum([shares[c] for c in unfilled])
            first = min(unfilled, key=lambda c: (floors[c] - credits[c]) / shares[c])
            until_filled = (floors[first] - credits[first]) / shares[first]
            until_full = missing / flow if flow > 0 else until_filled + gain
            step = min(gain, until_filled, until_full)
            for c in unfilled:
                credits[c] = min(floors[c], credits[c] + step * shares[c])
            if step == until_filled:
                credits[first] = floors[first]
            missing = 0.0 if step == until_full else missing - step * flow
            gain -= step

    def ahead(self, split: Split, now: int, to: int) -> "Bucket":
        """The bucket as it would be at `to` if nothing else arrived."""
        ceilings = {c: Meter(meter.level) for c, meter in self.ceilings.items()}
        later = Bucket(Meter(self.meter.level), list(self.credits), ceilings)
        later.advance(split, now, to)
        return later

    def idle_at(self, split: Split, now: int) -> int:
        """When the level and every ceiling will be full."""
        gain = max(
            split.capacity - self.meter.level,
            *[
                (split.ceiling(c) - meter.level) / split.ceilings[c]
                for c, meter in self.ceilings.items()
            ],
            0.0,
        )
        return now + int(gain / split.rate) + 1

    def available(self, split: Split) -> float:
        """The level; negative in debt."""
        return self.meter.level

    def unspent(self, split: Split) -> list[float]:
        """Each class's credit."""
        return self.credits

    def ceiling_left(self, split: Split, c: int) -> float:
        """What the class's own level still holds."""
        return self.ceilings[c].level

    def charge(self, split: Split, c: int, amount: int, now: int) -> float:
        """Charge the level, the class's credit and its ceiling; return what the credit gave."""
        taken = min(float(amount), self.credits[c])
        self.credits[c] -= taken
        self.meter.take(amount, split.capacity, now)
        if split.limited(c):
            self.ceilings[c].take(amount, split.ceiling(c), now)
        return taken

    def refund(self, split: Split, c: int | None, charge: Charge, amount: int, now: int) -> None:
        """Give back `amount` of a charge, as far as the bucket could have kept it."""
        back = self.meter.give_back(amount, split.capacity, charge.at, now)
        if c is not None:
            regained = min(back, charge.taken, split.floors[c] - self.credits[c])
            self.credits[c] += max(0.0, regained)
        if c is not None and split.limited(c):
            self.ceilings[c].give_back(amount, split.ceiling(c), charge.at, now)
        self.spill(split)

    def spill(self, split: Split) -> None:
        """Let an unreserved part that is more than full fill credits."""
        excess = self.meter.level - sum(self.credits) - split.unreserved
        if excess > 0:
            fill(self.credits, split.floors, split.shares, excess)

    def overrun(self, split: Split, c: int | None, charge: Charge, amount: int, now: int) -> None:
        """Charge what a call used beyond its estimate: debt, borne first by its own class."""
        self.meter.take(amount, split.capacity, now)
        if c is not None:
            self.credits[c] = max(0.0, self.credits[c] - amount)
        if c is not None and split.limited(c):
            self.ceilings[c].take(amount, split.ceiling(c), now)
