"""A level that refills at a steady rate up to a capacity, and takes refunds exactly."""

import msgspec


class Meter(msgspec.Struct, array_like=True):
    """The level of a token bucket, in the limit's unit; negative while in debt.

    A refund must not lift the level above what it would be had the real cost been
    charged at admission: what a full bucket could not have kept is lost. So the room
    (capacity − level) just before each charge is remembered, and a refund walks forward
    from its charge: it shrinks to each later room it passes and uses up what it takes.

    Rooms stand in a stack that rises with time: a room at least as large as a later one
    never decides a walk, before or after the walks that shrink both, and is dropped.
    """

    level: float
    moments: list[int] = []
    """When each room was noted, in microseconds since the epoch."""
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
        refund = amount
        for i, moment in enumerate(self.moments):
            if moment > charged_at:
                refund = min(refund, self.rooms[i])
                self.rooms[i] -= refund
        self.level += refund
        return refund

    def remember_room(self, capacity: float, at: int) -> None:
        """Note the room there is at `at`, and drop the rooms it makes irrelevant."""
        room = max(0.0, capacity - self.level)
        while self.rooms and self.rooms[-1] >= room:
            self.rooms.pop()
            self.moments.pop()
        if not self.moments or self.moments[-1] < at:
            self.moments.append(at)
            self.rooms.append(room)
        if len(self.rooms) > MOST_ROOMS:
            self._merge_rooms()

    def _merge_rooms(self) -> None:
        """Keep about half of the rooms, merging those that differ least.

        The smaller room moves to the later moment, so refunds can only turn out smaller,
        by no more than the two differed.
        """
        apart = (self.rooms[-1] - self.rooms[0]) * 2 / MOST_ROOMS
        moments, rooms = self.moments[:1], self.rooms[:1]
        for moment, room in zip(self.moments[1:], self.rooms[1:], strict=True):
            if room - rooms[-1] < apart:
                moments[-1] = moment
            else:
                moments.append(moment)
                rooms.append(room)
        self.moments, self.rooms = moments, rooms


MOST_ROOMS = 100
"""Rooms kept per meter before the closest are merged."""
