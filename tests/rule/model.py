"""The rule once more, slowly: one pool re-simulated from its history at every question.

Written from the design's text alone, in exact fractions, so that a mistake shared with
`budget.rule` is unlikely. `Model.judge` is the inequality, `Model.offer` the whole decision,
`Model.earliest` the Retry-After by search instead of algebra.
"""

from dataclasses import dataclass
from fractions import Fraction

from budget.rule.terms import SECOND, ClassTerms, PoolTerms
from tests.rule.model_limits import HISTORIES, ZERO, Amounts, Charge, History, exact, size_of

TOLERANCE = Fraction(1, 10**6)
RECENTLY = 30 * SECOND
FAR = 400 * 86_400 * SECOND
"""A span after which everything that refills by itself is full."""

CAPACITY_REASONS = ("pool_exhausted", "floor_protected", "headroom")


@dataclass(frozen=True)
class Call:
    """What a caller asks for; `costs` one per limit, 0 where it isn't touched."""

    slug: str | None
    costs: tuple[int, ...]
    deadline: int


@dataclass
class Numbers:
    """One touched limit's arithmetic for one call."""

    limit: str
    cost: int
    available: Fraction
    own_floor: Fraction
    protected: Amounts
    free: Fraction
    headroom: Fraction
    spent: Fraction
    """Which part of the interactive floors is spent."""
    ceiling_left: Fraction | None

    @property
    def within_floor(self) -> bool:
        return self.cost <= self.own_floor + TOLERANCE


@dataclass
class Verdict:
    """Why a call is shed, or None: it is admitted."""

    reason: str | None
    limit: str | None = None
    margin: Fraction = Fraction(1)
    """How far the closest comparison was from falling the other way."""


@dataclass
class Lease:
    slug: str
    charges: dict[str, tuple[History, Charge]]


class Model:
    """A pool from its first moment on."""

    def __init__(self, terms: PoolTerms, now: int) -> None:
        self.terms = terms
        self.offered: list[tuple[int, str]] = []
        self.backoff_until: dict[str, int] = {}
        self.histories = {
            limit.name: HISTORIES[limit.algorithm](now, size_of(limit, terms))
            for limit in terms.limits
        }

    # what happens

    def edit(self, terms: PoolTerms, now: int) -> None:
        """A limit that stays keeps its history, a new one is born full."""
        kept = self.histories
        self.terms, self.histories = terms, {}
        for limit in terms.limits:
            size = size_of(limit, terms)
            if limit.name in kept:
                self.histories[limit.name] = kept[limit.name]
                self.histories[limit.name].edit(now, size)
            else:
                self.histories[limit.name] = HISTORIES[limit.algorithm](now, size)

    def offer(self, call: Call, now: int) -> Verdict:
        """Note the demand, decide, and charge all limits if enforcement admits."""
        if call.slug is not None:
            self.offered.append((now, call.slug))
        return self.verdict(call, now)

    def charge(self, call: Call, now: int) -> Lease:
        """What an admitted call holds from now on."""
        assert call.slug is not None
        lease = Lease(call.slug, {})
        for limit, cost in zip(self.terms.limits, call.costs, strict=True):
            history = self.histories[limit.name]
            lease.charges[limit.name] = history, history.charge(now, call.slug, cost)
        return lease

    def settle(self, lease: Lease, real: dict[str, int], now: int) -> None:
        """Replace the estimate by what was used, `real` by limit name, where given."""
        for name, (history, charge) in lease.charges.items():
            history.settle(charge, now, real.get(name, charge.cost))

    def release(self, lease: Lease, now: int) -> None:
        for history, charge in lease.charges.values():
            history.release(charge, now)

    # the decision

    def verdict(self, call: Call, now: int) -> Verdict:
        """The first reason, in the order of the closed set, for which the call is shed."""
        terms = self.terms
        if terms.paused or (call.slug is not None and self.owner(call.slug).paused):
            return Verdict("paused")
        if call.slug is None:
            return Verdict("untagged")
        margin = Fraction(1)
        for limit, cost in zip(terms.limits, call.costs, strict=True):
            excess = cost - self.largest(call.slug, limit.name) - TOLERANCE
            margin = min(margin, abs(excess))
            if cost and excess > 0:
                return Verdict("never_fits", limit.name, margin)
        if call.deadline <= now:
            return Verdict("deadline_unmeetable")
        if self.backoff_until.get(call.slug, 0) > now:
            return Verdict("provider_backoff")
        return self.judge(call, now)

    def judge(self, call: Call, now: int) -> Verdict:
        """The inequality on every touched limit at a moment, if nothing else came before."""
        assert call.slug is not None
        numbers = self.numbers(call, now)
        beyond_floor = [n for n in numbers if not n.within_floor]
        tests: list[tuple[str, str | None, Fraction]] = []
        yields_above = self.owner(call.slug).yields_above
        if yields_above is not None and beyond_floor:
            tightest = max(numbers, key=lambda n: n.spent)
            above = tightest.spent - exact(yields_above)
            tests.append(("yielding", tightest.limit, above + 2 * TOLERANCE))
        for n in numbers:
            if n.ceiling_left is not None:
                tests.append(("ceiling", n.limit, n.cost - n.ceiling_left))
        tests += [("pool_exhausted", n.limit, n.cost - n.available) for n in beyond_floor]
        tests += [("floor_protected", n.limit, n.cost - n.free) for n in beyond_floor]
        tests += [("headroom", n.limit, n.cost - n.free + n.headroom) for n in beyond_floor]

        margins = [abs(n.cost - n.own_floor - TOLERANCE) for n in numbers]
        for reason, name, excess in tests:
            margins.append(abs(excess - TOLERANCE))
            if excess > TOLERANCE:
                return Verdict(reason, name, min(margins))
        return Verdict(None, None, min(margins, default=Fraction(1)))

    def numbers(self, call: Call, now: int) -> list[Numbers]:
        """The arithmetic on every touched limit."""
        assert call.slug is not None
        return [
            self.numbers_of(call.slug, limit.name, cost, now)
            for limit, cost in zip(self.terms.limits, call.costs, strict=True)
            if cost
        ]

    def numbers_of(self, slug: str, name: str, cost: int, now: int) -> Numbers:
        history = self.histories[name]
        reading, size = history.reading(now, slug), history.size
        effective = self.effective(reading.available, reading.unspent)
        meets = {
            j: unspent if j == slug else self.protection(slug, j) * unspent
            for j, unspent in reading.unspent.items()
        }
        protected = self.effective(reading.available, meets) | {slug: ZERO}
        caller = self.owner(slug)
        interactive = [c.slug for c in self.terms.classes if c.tier == "interactive"]
        nominal = sum((size.floor(j) for j in interactive), ZERO)
        unspent = sum((reading.unspent[j] for j in interactive), ZERO)
        busy = self.stricter_was_offered(slug, now)
        return Numbers(
            limit=name,
            cost=cost,
            available=reading.available,
            own_floor=effective[slug],
            protected=protected,
            free=reading.available - sum(protected.values()),
            headroom=exact(caller.headroom) * size.unreserved if busy else ZERO,
            spent=1 - unspent / nominal if nominal else ZERO,
            ceiling_left=reading.ceiling_left if caller.ceiling < 1 else None,
        )

    def effective(self, available: Fraction, unspent: Amounts) -> Amounts:
        """Floors never promise more than there is; the strictest tier's come first."""
        left, effective = max(ZERO, available), {}
        for tier in ("interactive", "near_line", "bulk"):
            members = [c.slug for c in self.terms.classes if c.tier == tier]
            total = sum((unspent[j] for j in members), ZERO)
            for j in members:
                effective[j] = unspent[j] if total <= left else unspent[j] * left / total
            left -= min(total, left)
        return effective

    def protection(self, caller: str, owner: str) -> Fraction:
        """Which part of the owner's unspent floor the caller must leave alone."""
        if caller == owner:
            return ZERO
        tiers = ("interactive", "near_line", "bulk")
        ours, theirs = self.owner(caller), self.owner(owner)
        looser = tiers.index(theirs.tier) > tiers.index(ours.tier)
        return 1 - exact(theirs.lendable) if looser else Fraction(1)

    def stricter_was_offered(self, slug: str, now: int) -> bool:
        order = [c.slug for c in self.terms.classes]
        stricter = order[: order.index(slug)]
        return any(j in stricter and now - at < RECENTLY for at, j in self.offered)

    def largest(self, slug: str, name: str) -> Fraction:
        """The largest call of a class that an idle pool would admit on a limit."""
        size = self.histories[name].size
        kept = sum(
            (self.protection(slug, j.slug) * size.floor(j.slug) for j in self.terms.classes), ZERO
        )
        fits = max(size.floor(slug), size.capacity - kept)
        return min(fits, size.ceilings[slug] * size.capacity)

    # when it would fit

    def earliest(self, call: Call, now: int) -> int | None:
        """The first microsecond at which the call is admitted if nothing else arrives.

        The inequality never turns false again by waiting, so bisection finds it. None: it
        waits for a lease to end, and nobody can compute when.
        """
        assert call.slug is not None
        now = max(now, self.backoff_until.get(call.slug, 0))
        if self.judge(call, now).reason is None:
            return now
        if self.judge(call, now + FAR).reason is not None:
            return None
        low, step = now, 1
        while self.judge(call, low + step).reason is not None:
            low, step = low + step, step * 4
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            if self.judge(call, middle).reason is None:
                high = middle
            else:
                low = middle
        return high

    def owner(self, slug: str) -> ClassTerms:
        return self.terms.classes[self.terms.class_index[slug]]
