"""A level that refills at a steady rate up to a capacity, and takes refunds exactly."""

import msgspec

from budget.rule.terms import SECOND

MOST_ROOMS = 120
"""Rooms kept per meter. Beyond it the two oldest are merged."""


class Meter(msgspec.Struct, array_like=True):
    """The level of a token bucket, in the limit's unit; negative while in debt.

    A refund must not lift the level above what it would be had the real cost been
    charged at admission: what a full bucket could not have kept is lost. So the room
    (capacity − level) just before each charge is remembered, and a refund walks forward
    from its charge: it shrinks to each room it passes and uses up what it takes there.

    Rooms stand in a stack that rises with time: a room at least as large as a later one
    never decides a walk, before or after the walks that shrink both, and is dropped.
    Charges within one second share their smallest room, and very old rooms are merged,
    so a refund may turn out smaller than exact, never larger.
    """

    level: float
    seconds: list[int] = []
    rooms: list[float] = []

    def refill(self, gain: float, capacity: float) -> None:
        """Add `gain` units, as far as they fit."""
        self.level = min(capacity, self.level + gain)

    def take(self, amount: float, capacity: float, at: int) -> None:
        """Charge `amount`; the level may go below zero."""
        self.remember_room(capacity, at)
        self.level -= amount

    def give_back(self, amount: float, capacity: float, charged_at: int, now: int) -> float:
        """Refund up to `amount` of a charge made at `charged_at`; return what fitted."""
        self.remember_room(capacity, now)
        since = charged_at // SECOND
        refund = amount
        for i, second in enumerate(self.seconds):
            if second >= since:
                refund = min(refund, self.rooms[i])
                self.rooms[i] -= refund
        self.level += refund
        return refund

    def remember_room(self, capacity: float, at: int) -> None:
        """Note the room there is at `at`, and drop the rooms it makes irrelevant."""
        second, room = at // SECOND, max(0.0, capacity - self.level)
        while self.rooms and self.rooms[-1] >= room:
            self.rooms.pop()
            self.seconds.pop()
        if not self.seconds or self.seconds[-1] < second:
            self.seconds.append(second)
            self.rooms.append(room)
        if len(self.seconds) > MOST_ROOMS:
            # The older of two merged rooms is the smaller: refunds can only turn out smaller.
            del self.seconds[0], self.rooms[1]
