"""Carrying a pool's state over a policy edit."""

from budget.rule.bucket import Bucket
from budget.rule.gauge import Gauge
from budget.rule.limits import Level, full
from budget.rule.meter import Meter
from budget.rule.pool import PoolState, Promise, advance, fresh
from budget.rule.split import Split
from budget.rule.strategies import splits
from budget.rule.terms import PoolTerms
from budget.rule.window import Slot, Window, slot_index


def adopt(old: PoolTerms, state: PoolState, new: PoolTerms, changed_at: int) -> PoolState:
    """The state under `new` terms, from one under `old` terms that were edited at `changed_at`.

    What was used stays used: a bucket keeps its level as far as it fits, a window its
    charges, a gauge what it holds. New limits start full. A new or larger floor fills
    from what the unreserved part has beyond its own size, then by refill. Classes are
    matched by slug and limits by name. `state` is advanced to `changed_at` on the way.
    """
    advance(old, state, changed_at)
    carried = fresh(new, state.at)
    moved = [old.class_index.get(member.slug) for member in new.classes]
    for c, before in enumerate(moved):
        if before is not None:
            carried.last_offered[c] = state.last_offered[before]
            carried.backoff_until[c] = state.backoff_until[before]
            carried.call_times[c] = state.call_times[before]
    for d, split in enumerate(splits(new, carried)):
        before = old.limit_index.get(split.terms.name)
        if before is not None:
            carried.since[d] = state.since[before]
            carried.explained[d] = state.explained[before]
            carried.excused[d] = state.excused[before]
            carried.levels[d] = _carry(
                splits(old, state)[before], state.levels[before], split, moved, state.at
            )
    carried.backoff_widened_at = state.backoff_widened_at
    carried.promises = _carry_promises(old, state, new)
    return carried


def _carry(was: Split, level: Level, split: Split, moved: list[int | None], at: int) -> Level:
    if isinstance(level, Bucket):
        return _carry_bucket(was, level, split, moved, at)
    if isinstance(level, Gauge):
        return Gauge(_moved(level.by_class, moved), level.total)
    if was.period == split.period:
        merged_at = level.merged_at
        slots = [Slot(slot.index, slot.total, _moved(slot.by_class, moved)) for slot in level.slots]
    else:
        merged_at = at
        slots = [Slot(slot_index(split, at), level.total, _moved(level.by_class, moved))]
    return Window(_moved(level.by_class, moved), level.total, slots, merged_at)


def _carry_bucket(
    was: Split, level: Bucket, split: Split, moved: list[int | None], at: int
) -> Bucket:
    carried = full(split)
    assert isinstance(carried, Bucket), "matched by name, which names the algorithm"
    carried.meter = _carry_meter(level.meter, was.capacity, split.capacity, at)
    carried.credits = [
        0.0 if before is None else min(floor, level.credits[before])
        for floor, before in zip(split.floors, moved, strict=True)
    ]
    for c in carried.ceilings:
        before = moved[c]
        if before is not None and before in level.ceilings:
            carried.ceilings[c] = _carry_meter(
                level.ceilings[before], was.ceiling(before), split.ceiling(c), at
            )
    carried.spill(split)
    return carried


def _carry_meter(meter: Meter, was: float, capacity: float, at: int) -> Meter:
    """What a full bucket of the old size could not have kept stays lost in a larger one."""
    carried = Meter(meter.level, list(meter.moments), list(meter.rooms))
    carried.remember_room(was, at)
    carried.level = min(capacity, carried.level)
    carried.remember_room(capacity, at)
    return carried


def _moved(by_class: list[int], moved: list[int | None]) -> list[int]:
    return [0 if before is None else by_class[before] for before in moved]


def _carry_promises(old: PoolTerms, state: PoolState, new: PoolTerms) -> dict[str, Promise]:
    carried = {}
    for key, promise in state.promises.items():
        c = new.class_index.get(old.classes[promise.workload_class].slug)
        costs = dict(zip(old.limit_index, promise.costs, strict=True))
        if c is not None:
            carried[key] = Promise(
                c,
                promise.moment,
                promise.until,
                tuple(costs.get(name, 0) for name in new.limit_index),
            )
    return carried
