"""A pool's balances and the verbs that change them."""

from collections.abc import Iterator, Sequence

import msgspec

from budget.rule.decision import Charge
from budget.rule.limits import Level, full
from budget.rule.quantile import Quantile
from budget.rule.split import Split
from budget.rule.strategies import reserved_splits, splits
from budget.rule.terms import SECOND, PoolTerms

ACTIVITY = 30 * SECOND
"""For how long a class counts as at work after it was last offered a call."""
MINUTE = 60 * SECOND
UNKNOWN = 1e18
MOST_EXPLAINED = 4 * MINUTE
"""So long a limit's refill: calls that the provider refused would explain ever more."""


class Offer(msgspec.Struct, kw_only=True):
    """A call that asks to be admitted."""

    workload_class: int | None
    """Position of its class; None for an untagged call on a pool that sheds those."""
    costs: tuple[int, ...]
    """What it costs on each limit of the pool; 0 leaves a limit untouched."""
    deadline: int
    """When its answer becomes worthless, in microseconds since the epoch."""
    key: str
    """What a returning caller is known by: its idempotency key, or the call's id."""


class Promise(msgspec.Struct, array_like=True):
    """A moment given to a refused caller, so that the next one is given a later one."""

    workload_class: int
    moment: int
    until: int
    """When it lapses: one second after its moment, or at the call's deadline."""
    costs: tuple[int, ...]


class Settlement(msgspec.Struct):
    """How an estimate compared with what was used, by unit."""

    refunded: dict[str, int]
    overrun: dict[str, int]


class PoolState(msgspec.Struct, kw_only=True):
    """Everything the rule remembers of one pool; serialisable as JSON."""

    at: int
    """The moment the state stands at, in microseconds since the epoch."""
    classes: list[str]
    limits: list[str]
    levels: list[Level]
    since: list[int]
    """When each limit was added. A limit that was removed and added again begins anew."""
    last_offered: list[int]
    """When each class was last offered a call; 0 for never."""
    backoff_until: list[int]
    """Until when the provider wants no calls of each class; 0 for not at all."""
    call_times: list[Quantile]
    """The median time from admission to settlement of each class, in seconds."""
    promises: dict[str, Promise] = {}
    """By the key of the caller who holds it, in the order in which they were made."""
    explained: list[float] = []
    """What may be missing of each limit at the provider for reasons that are known: `observe`."""
    excused: list[float] = []
    """What may be missing beyond that, used by callers while the service was away."""
    backoff_widened_at: int = 0
    """When a backoff last began, or took in another tier."""

    def __post_init__(self) -> None:
        """A program that explained nothing has left it: for a while, all is explained."""
        if not self.explained:
            self.explained = [UNKNOWN] * len(self.limits)
        if not self.excused:
            self.excused = [0.0] * len(self.limits)


def fresh(terms: PoolTerms, now: int) -> PoolState:
    """The state of a pool nobody has called yet: everything is full."""
    classes = len(terms.classes)
    return PoolState(
        at=now,
        classes=[member.slug for member in terms.classes],
        limits=[limit.name for limit in terms.limits],
        levels=[full(split) for split in reserved_splits(terms)],
        since=[now] * len(terms.limits),
        last_offered=[0] * classes,
        backoff_until=[0] * classes,
        call_times=[Quantile(0.5) for _ in range(classes)],
        explained=[0.0] * len(terms.limits),
    )


def advance(terms: PoolTerms, state: PoolState, now: int) -> None:
    """Move the state to `now`. A moment before the state's own changes nothing."""
    if now <= state.at:
        return
    for d, (split, level) in enumerate(zip(splits(terms, state), state.levels, strict=True)):
        level.advance(split, state.at, now)
        _refill(state, d, split, split.rate * (now - state.at))
    state.at = now
    lapsed = [key for key, promise in state.promises.items() if promise.until < now]
    for key in lapsed:
        del state.promises[key]


def _refill(state: PoolState, d: int, split: Split, gain: float) -> None:
    """Let so much of a limit come back at the provider: first of what is explained."""
    most = max(MOST_EXPLAINED, split.period) * split.rate
    explained, excused = min(state.explained[d], most), min(state.excused[d], most)
    state.explained[d] = max(0.0, explained - gain)
    state.excused[d] = max(0.0, excused - max(0.0, gain - explained))


def charge(terms: PoolTerms, state: PoolState, c: int, costs: Sequence[int]) -> list[Charge]:
    """Charge every limit for an admitted call.

    Untouched limits get a charge of 0, so that a later overrun knows where it belongs.
    """
    explain(state, costs)
    return [
        Charge(
            split.terms.name,
            cost,
            state.at,
            level.charge(split, c, cost, state.at) if cost else 0.0,
        )
        for split, level, cost in zip(splits(terms, state), state.levels, costs, strict=True)
    ]


def explain(state: PoolState, costs: Sequence[int]) -> None:
    """The provider will count what a call costs, whether or not it is charged here."""
    for d, cost in enumerate(costs):
        state.explained[d] += cost


def settle(
    terms: PoolTerms,
    state: PoolState,
    workload_class: str,
    charges: Sequence[Charge],
    used: dict[str, int] | None,
    held: bool,
) -> Settlement:
    """Replace a call's charges by what it used, by unit; None if it never left.

    `held` is False when the lease had expired, so that gauges were released before.
    The state must stand at the moment of the settlement.
    """
    c = terms.class_index.get(workload_class)
    outcome = Settlement({}, {})
    for d, paid in _in_force(terms, state, charges):
        split, level = splits(terms, state)[d], state.levels[d]
        if split.terms.algorithm == "gauge":
            if held:
                level.refund(split, c, paid, paid.amount, state.at)
            continue
        unit = split.terms.unit
        difference = paid.amount - (used[unit] if used is not None else 0)
        if difference > 0:
            level.refund(split, c, paid, difference, state.at)
            outcome.refunded[unit] = difference
        elif difference < 0:
            level.overrun(split, c, paid, -difference, state.at)
            state.explained[d] -= difference
            outcome.overrun[unit] = -difference
    if c is not None and used is not None and held and charges:
        state.call_times[c].observe((state.at - charges[0].at) / SECOND)
    return outcome


def release(
    terms: PoolTerms, state: PoolState, workload_class: str, charges: Sequence[Charge]
) -> None:
    """End an abandoned lease: gauges are released, everything else stays charged."""
    c = terms.class_index.get(workload_class)
    for d, paid in _in_force(terms, state, charges):
        if terms.limits[d].algorithm == "gauge":
            state.levels[d].refund(splits(terms, state)[d], c, paid, paid.amount, state.at)


def _in_force(
    terms: PoolTerms, state: PoolState, charges: Sequence[Charge]
) -> Iterator[tuple[int, Charge]]:
    """Charges whose limit still stands, with its position."""
    for paid in charges:
        d = terms.limit_index.get(paid.limit)
        if d is not None and paid.at >= state.since[d]:
            yield d, paid
