"""One limit of a pool, told from its whole history in exact fractions.

Slow on purpose: nothing is kept between questions but the list of what happened.
Every answer walks that list from the beginning, as the definition in the rule reads.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from budget.rule.terms import LimitTerms, PoolTerms

ZERO = Fraction(0)
Amounts = dict[str, Fraction]


def exact(number: float) -> Fraction:
    """The decimal that a float of the policy was written as."""
    return Fraction(number).limit_denominator(10**6)


@dataclass(frozen=True)
class Size:
    """What an edit sets: how much the limit holds, how fast it fills, and each class's part."""

    capacity: Fraction
    rate: Fraction
    """Units per microsecond; 0 on a gauge."""
    period: int
    shares: Amounts
    ceilings: Amounts

    @property
    def unreserved(self) -> Fraction:
        return (1 - sum(self.shares.values())) * self.capacity

    def floor(self, slug: str) -> Fraction:
        return self.shares.get(slug, ZERO) * self.capacity


def size_of(limit: LimitTerms, terms: PoolTerms) -> Size:
    """The limit's size under a policy; a floor switched off on this limit is a share of 0."""
    bucket = limit.algorithm == "token_bucket"
    capacity = limit.amount * exact(limit.burst_percent) / 100 if bucket else limit.amount
    return Size(
        capacity=Fraction(capacity),
        rate=Fraction(limit.amount, limit.period),
        period=limit.period,
        shares={
            owner.slug: ZERO if limit.name in owner.except_limits else exact(owner.share)
            for owner in terms.classes
        },
        ceilings={owner.slug: exact(owner.ceiling) for owner in terms.classes},
    )


@dataclass(eq=False)
class Edit:
    at: int
    size: Size


@dataclass(eq=False)
class Charge:
    """An admitted call's estimate; `real` is what it cost once a settle has said so."""

    at: int
    slug: str
    cost: int
    real: int
    taken: Fraction = ZERO
    """How much of the cost came out of the class's credit, on a bucket."""
    held: bool = True
    """Whether the lease still holds its part of a gauge."""


@dataclass(eq=False)
class Lift:
    """A refund as it reached a bucket, at the moment of its settle."""

    at: int
    charge: Charge
    level: Fraction
    ceiling: Fraction


@dataclass(eq=False)
class Debt:
    """Use beyond the estimate, owed from the moment of its settle."""

    at: int
    slug: str
    amount: int


Event = Edit | Charge | Lift | Debt


@dataclass
class Tank:
    """A level that fills steadily up to a cap: a bucket by definition."""

    at: int
    level: Fraction
    cap: Fraction
    rate: Fraction

    def wait(self, until: int) -> None:
        self.level = min(self.cap, self.level + self.rate * (until - self.at))
        self.at = until

    def add(self, amount: Fraction) -> None:
        self.level = min(self.cap, self.level + amount)

    def resize(self, cap: Fraction, rate: Fraction) -> None:
        self.cap, self.rate = cap, rate
        self.level = min(self.level, cap)


def tank_of(events: Iterable[tuple[int, Fraction | tuple[Fraction, Fraction]]], until: int) -> Tank:
    """Run a tank through `(moment, change of level or new (cap, rate))`; it is born full."""
    tank: Tank | None = None
    for at, change in events:
        if tank is None:
            assert isinstance(change, tuple)
            tank = Tank(at, change[0], *change)
            continue
        tank.wait(at)
        if isinstance(change, tuple):
            tank.resize(*change)
        else:
            tank.add(change)
    assert tank is not None
    tank.wait(until)
    return tank


@dataclass
class Credits:
    """A bucket's level together with every class's unspent floor in it."""

    at: int
    size: Size
    level: Fraction
    credit: Amounts = field(default_factory=dict)

    @property
    def beyond(self) -> Fraction:
        """The part of the level that is nobody's credit."""
        return self.level - sum(self.credit.values())

    @property
    def unfilled(self) -> dict[str, Fraction]:
        """Shares of the classes whose credit isn't full."""
        shares = self.size.shares
        return {j: f for j, f in shares.items() if self.credit[j] < self.size.floor(j)}

    def wait(self, until: int) -> None:
        while self.at < until:
            self._one_segment(until)

    def _one_segment(self, until: int) -> None:
        """Up to the next moment at which something fills up."""
        rate, unfilled = self.size.rate, self.unfilled
        if self.level == self.size.capacity:
            assert not unfilled
            self.at = until
            return
        if self.beyond == self.size.unreserved:
            total = sum(unfilled.values())
            speeds = {j: rate * f / total for j, f in unfilled.items()}
        else:
            speeds = {j: rate * f for j, f in unfilled.items()}
        spans = [Fraction(until - self.at), (self.size.capacity - self.level) / rate]
        spans += [(self.size.floor(j) - self.credit[j]) / v for j, v in speeds.items()]
        gain = rate - sum(speeds.values())
        if gain > 0:
            spans.append((self.size.unreserved - self.beyond) / gain)
        span = min(spans)
        self.level += rate * span
        for j, speed in speeds.items():
            self.credit[j] += speed * span
        self.at += span  # type: ignore[assignment]

    def charge(self, slug: str, amount: Fraction) -> Fraction:
        """Take an amount, out of the class's own credit as far as that goes; that part."""
        taken = min(self.credit.get(slug, ZERO), amount)
        self.level -= amount
        if slug in self.credit:
            self.credit[slug] -= taken
        return taken

    def lift(self, slug: str, amount: Fraction, taken: Fraction) -> None:
        self.level = min(self.size.capacity, self.level + amount)
        if slug in self.credit:
            regained = self.credit[slug] + min(amount, taken)
            self.credit[slug] = min(self.size.floor(slug), regained)
        self.spill()

    def resize(self, size: Size) -> None:
        old, self.size = self.credit, size
        self.level = min(self.level, size.capacity)
        self.credit = {j: min(old.get(j, ZERO), size.floor(j)) for j in size.shares}
        self.spill()

    def spill(self) -> None:
        """More unreserved than there can be flows into unfilled credits by share."""
        while (excess := self.beyond - self.size.unreserved) > 0:
            unfilled = self.unfilled
            total = sum(unfilled.values())
            depth = min((self.size.floor(j) - self.credit[j]) / f for j, f in unfilled.items())
            depth = min(depth, excess / total)
            for j, f in unfilled.items():
                self.credit[j] += f * depth


@dataclass
class Reading:
    """What a limit says at a moment."""

    available: Fraction
    unspent: Amounts
    """Each class's unspent floor P."""
    ceiling_left: Fraction
    """What the ceiling of the class that asks still allows."""


class History:
    """Everything that happened to one limit."""

    def __init__(self, at: int, size: Size) -> None:
        self.events: list[Event] = [Edit(at, size)]

    @property
    def size(self) -> Size:
        return [event.size for event in self.events if isinstance(event, Edit)][-1]

    @property
    def born(self) -> int:
        return self.events[0].at

    def charges(self) -> Iterator[Charge]:
        return (event for event in self.events if isinstance(event, Charge))

    def debts(self) -> Iterator[Debt]:
        return (event for event in self.events if isinstance(event, Debt))

    def edit(self, at: int, size: Size) -> None:
        self.events.append(Edit(at, size))

    def charge(self, at: int, slug: str, cost: int) -> Charge:
        charge = Charge(at, slug, cost, real=cost)
        self.events.append(charge)
        return charge

    def release(self, charge: Charge, at: int) -> None:
        """The lease expired: tokens stay."""

    def settle(self, charge: Charge, at: int, real: int) -> None:
        raise NotImplementedError

    def reading(self, at: int, slug: str) -> Reading:
        raise NotImplementedError


class BucketHistory(History):
    """A token bucket."""

    def charge(self, at: int, slug: str, cost: int) -> Charge:
        taken = self.credits(at).charge(slug, Fraction(cost))
        charge = super().charge(at, slug, cost)
        charge.taken = taken
        return charge

    def settle(self, charge: Charge, at: int, real: int) -> None:
        """A refund lifts the level to where it would be had the real cost been charged."""
        if real > charge.cost:
            self.events.append(Debt(at, charge.slug, real - charge.cost))
            return
        level, ceiling = self.rightful_level(at), self.rightful_level(at, charge.slug)
        charge.real = real
        lift = Lift(
            at,
            charge,
            level=self.rightful_level(at) - level,
            ceiling=self.rightful_level(at, charge.slug) - ceiling,
        )
        self.events.append(lift)

    def rightful_level(self, at: int, slug: str | None = None) -> Fraction:
        """The level had every settled call been charged its real cost when it was admitted.

        With a slug: the level under that class's ceiling.
        """
        changes: list[tuple[int, Fraction | tuple[Fraction, Fraction]]] = []
        for event in self.events:
            if isinstance(event, Edit):
                part = event.size.ceilings.get(slug, ZERO) if slug else Fraction(1)
                changes.append((event.at, (part * event.size.capacity, part * event.size.rate)))
            elif isinstance(event, Charge) and slug in (None, event.slug):
                changes.append((event.at, Fraction(-event.real)))
            elif isinstance(event, Debt) and slug in (None, event.slug):
                changes.append((event.at, Fraction(-event.amount)))
        return tank_of(changes, at).level

    def ceiling_level(self, at: int, slug: str) -> Fraction:
        """The level under a class's ceiling as it really went, refunds at their settle."""
        changes: list[tuple[int, Fraction | tuple[Fraction, Fraction]]] = []
        for event in self.events:
            if isinstance(event, Edit):
                part = event.size.ceilings.get(slug, ZERO)
                changes.append((event.at, (part * event.size.capacity, part * event.size.rate)))
            elif isinstance(event, Charge) and event.slug == slug:
                changes.append((event.at, Fraction(-event.cost)))
            elif isinstance(event, Debt) and event.slug == slug:
                changes.append((event.at, Fraction(-event.amount)))
            elif isinstance(event, Lift) and event.charge.slug == slug:
                changes.append((event.at, event.ceiling))
        return tank_of(changes, at).level

    def credits(self, at: int) -> Credits:
        """Level and credits as they really went, refunds at their settle."""
        size = self.events[0].size  # type: ignore[union-attr]
        state = Credits(self.born, size, size.capacity, {j: size.floor(j) for j in size.shares})
        for event in self.events[1:]:
            state.wait(event.at)
            if isinstance(event, Edit):
                state.resize(event.size)
            elif isinstance(event, Charge):
                state.charge(event.slug, Fraction(event.cost))
            elif isinstance(event, Debt):
                state.charge(event.slug, Fraction(event.amount))
            else:
                state.lift(event.charge.slug, event.level, event.charge.taken)
        state.wait(at)
        return state

    def reading(self, at: int, slug: str) -> Reading:
        state = self.credits(at)
        return Reading(state.level, state.credit, self.ceiling_level(at, slug))


class CountingHistory(History):
    """A limit that counts: what is used of it is a sum over charges."""

    def used(self, at: int, slug: str | None = None) -> Fraction:
        raise NotImplementedError

    def reading(self, at: int, slug: str) -> Reading:
        size = self.size
        used = {j: self.used(at, j) for j in size.shares}
        return Reading(
            available=size.capacity - self.used(at),
            unspent={j: max(ZERO, size.floor(j) - used[j]) for j in used},
            ceiling_left=size.ceilings[slug] * size.capacity - used[slug],
        )


class WindowHistory(CountingHistory):
    """A sliding window of 60 slots: a slot counts until it is wholly outside."""

    def counts(self, charge: Charge, at: int) -> bool:
        slot = Fraction(self.size.period, 60)
        end_of_slot = (charge.at // slot + 1) * slot
        return end_of_slot > at - self.size.period

    def settle(self, charge: Charge, at: int, real: int) -> None:
        if self.counts(charge, at):
            charge.real = real

    def used(self, at: int, slug: str | None = None) -> Fraction:
        counted = (c.real for c in self.charges() if slug in (None, c.slug) and self.counts(c, at))
        return Fraction(sum(counted))


class GaugeHistory(CountingHistory):
    """What open leases hold."""

    def release(self, charge: Charge, at: int) -> None:
        charge.held = False

    def settle(self, charge: Charge, at: int, real: int) -> None:
        charge.held = False

    def used(self, at: int, slug: str | None = None) -> Fraction:
        return Fraction(sum(c.cost for c in self.charges() if slug in (None, c.slug) and c.held))


HISTORIES: dict[str, type[History]] = {
    "token_bucket": BucketHistory,
    "sliding_window": WindowHistory,
    "gauge": GaugeHistory,
}
