"""The rule and its model side by side, living through the same day."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from budget.rule.admission import offer
from budget.rule.adopt import adopt
from budget.rule.bucket import Bucket
from budget.rule.decision import TOLERANCE, Charge, Decision
from budget.rule.pool import Offer, PoolState, advance, fresh, release, settle
from budget.rule.terms import PoolTerms
from tests.rule import generators as given
from tests.rule.model import Call, Lease, Model, Verdict
from tests.rule.model_limits import BucketHistory


@dataclass
class OpenLease:
    """An admitted call that isn't settled yet, as both sides keep it."""

    slug: str
    units: dict[str, int]
    charges: list[Charge]
    modelled: Lease
    held: bool = True


@dataclass
class Outcome:
    """What both sides made of one offer, and the state before anything was charged."""

    call: Call
    decision: Decision
    verdict: Verdict
    promised: bool
    """Whether a call of the same or a stricter class was promised a moment before."""
    before: PoolState
    estimated: bool
    """Whether its Retry-After rests on a gauge, which only leases that end will free."""


@dataclass
class World:
    """One pool under the rule and under the model."""

    terms: PoolTerms
    now: int = given.START
    through_json: bool = False
    """Store and load the state between any two events."""
    leases: list[OpenLease] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state = fresh(self.terms, self.now)
        self.model = Model(self.terms, self.now)
        self.keys: dict[int | None, str] = {}
        self.calls = 0

    def live(self, step: given.Step) -> Outcome | None:
        """One step of a day; the outcome if it was an offer."""
        self.wait(step.after)
        event = step.event
        if isinstance(event, given.Offered):
            return self.offer(self.call_of(event), self.key_of(event))
        if isinstance(event, given.Settled) and self.leases:
            self.settle(event.lease % len(self.leases), event.used)
        elif isinstance(event, given.Expired) and self.leases:
            self.expire(event.lease % len(self.leases))
        elif isinstance(event, given.BackedOff):
            self.back_off(event.caller % len(self.terms.classes), self.now + event.span)
        elif isinstance(event, given.Edited):
            self.edit(event.terms)
        return None

    def wait(self, span: int) -> None:
        self.now += span
        if self.through_json:
            stored = msgspec.json.encode(self.state)
            self.state = msgspec.json.decode(stored, type=PoolState)
        advance(self.terms, self.state, self.now)

    def call_of(self, event: given.Offered) -> Call:
        """The event's shares of the pool as whole tokens of a call."""
        sizes = [limit.capacity for limit in self.terms.limits if limit.unit != "requests"]
        scale = min(sizes, default=1000.0)
        read, written = (
            share if share == given.HUGE else int(share * scale / 1000)
            for share in (event.input_share, event.output_share)
        )
        members = self.terms.classes
        slug = None if event.caller is None else members[event.caller % len(members)].slug
        return Call(slug, self.costs(read, written), self.now + event.patience)

    def costs(self, read: int, written: int) -> tuple[int, ...]:
        units = units_of(read, written)
        return tuple(units[limit.unit] for limit in self.terms.limits)

    def key_of(self, event: given.Offered) -> str:
        if not (event.same_key and event.caller in self.keys):
            self.calls += 1
            self.keys[event.caller] = f"call-{self.calls}"
        return self.keys[event.caller]

    def offer(self, call: Call, key: str = "alone") -> Outcome:
        """Offer a call to both; charge the model if the rule admitted."""
        before = copy_of(self.state)
        c = None if call.slug is None else self.terms.class_index[call.slug]
        asked = Offer(workload_class=c, costs=call.costs, deadline=call.deadline, key=key)
        decision = offer(self.terms, self.state, asked)
        verdict = self.model.offer(call, self.now)
        if decision.admitted and decision.would_be is None:
            assert call.slug is not None
            leased = self.model.charge(call, self.now)
            units: dict[str, int] = {
                limit.unit: cost for limit, cost in zip(self.terms.limits, call.costs, strict=True)
            }
            self.leases.append(OpenLease(call.slug, units, decision.charges, leased))
        promised = any(
            c is not None and promise.workload_class <= c and other != key
            for other, promise in before.promises.items()
        )
        return Outcome(call, decision, verdict, promised, before, self._estimated(call, decision))

    def _estimated(self, call: Call, decision: Decision) -> bool:
        if call.slug is None:
            return False
        yields_above = self.model.owner(call.slug).yields_above
        for standing in decision.standings:
            if standing.limit.endswith("/gauge"):
                short = standing.shortfall > TOLERANCE
                if standing.ceiling_left is not None:
                    short |= standing.cost > standing.ceiling_left + TOLERANCE
                if yields_above is not None:
                    short |= not standing.within_floor
                    short |= standing.interactive_floors_spent > yields_above - TOLERANCE
                if short:
                    return True
        return False

    def ask(self, slug: str, cost: int) -> Outcome:
        """A call of the same cost on every limit, with all the time in the world."""
        return self.offer(Call(slug, (cost,) * len(self.terms.limits), self.now + given.MONTH))

    def probe(self, slug: str, costs: dict[str, int]) -> Decision:
        """What the rule would say now to a call of some cost by name of limit."""
        listed = tuple(costs.get(name, 0) for name in self.terms.limit_index)
        return self.probe_at(self.now, Call(slug, listed, self.now + given.MONTH))

    def probe_at(self, moment: int, call: Call) -> Decision:
        """What the rule would say at a moment if nothing came before; nothing is kept."""
        assert call.slug is not None
        state = copy_of(self.state)
        advance(self.terms, state, moment)
        c = self.terms.class_index[call.slug]
        asked = Offer(workload_class=c, costs=call.costs, deadline=call.deadline, key="probe")
        state.promises.clear()
        return offer(self.terms, state, asked)

    def settle(self, index: int, used_percent: int | None) -> None:
        lease = self.leases.pop(index)
        used = None
        if used_percent is not None:
            used = {
                unit: cost * used_percent // 100 if cost else max(0, used_percent - 100)
                for unit, cost in lease.units.items()
            }
            if "requests" in used:
                used["requests"] = 1
        settle(self.terms, self.state, lease.slug, lease.charges, used, lease.held)
        real = {
            charge.limit: 0 if used is None else used[charge.limit.split("/")[0]]
            for charge in lease.charges
        }
        self.model.settle(lease.modelled, real, self.now)

    def expire(self, index: int) -> None:
        lease = self.leases[index]
        if lease.held:
            release(self.terms, self.state, lease.slug, lease.charges)
            self.model.release(lease.modelled, self.now)
            lease.held = False

    def back_off(self, c: int, until: int) -> None:
        self.state.backoff_until[c] = until
        self.model.backoff_until[self.terms.classes[c].slug] = until

    def edit(self, terms: PoolTerms) -> None:
        """Adopt other terms, a moment after anything that was decided under the old ones."""
        self.wait(1)
        self.state = adopt(self.terms, self.state, terms, self.now)
        self.model.edit(terms, self.now)
        self.terms = terms


def units_of(read: int, written: int) -> dict[str, int]:
    """A call's cost in every unit."""
    return {
        "requests": 1,
        "input_tokens": read,
        "output_tokens": written,
        "total_tokens": read + written,
    }


def copy_of(state: PoolState) -> PoolState:
    return msgspec.json.decode(msgspec.json.encode(state), type=PoolState)


def bucket_levels(world: World) -> Iterator[tuple[float, float]]:
    """The rule's and the rightful level of every bucket and of every ceiling in one."""
    for name, bucket in zip(world.terms.limit_index, world.state.levels, strict=True):
        history = world.model.histories[name]
        if isinstance(bucket, Bucket) and isinstance(history, BucketHistory):
            yield bucket.meter.level, float(history.rightful_level(world.now))
            for c, meter in bucket.ceilings.items():
                slug = world.terms.classes[c].slug
                yield meter.level, float(history.rightful_level(world.now, slug))
