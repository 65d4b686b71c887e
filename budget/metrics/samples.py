"""What each metric says about a pool."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from budget.metrics import meters
from budget.metrics.meters import Meter
from budget.models.choices import Mode, Unavailable
from budget.rule.decision import REASONS
from budget.services import ClassTally, PoolSnapshot

UNTAGGED = "untagged"
"""The class of calls without a tag; counted together with a class of that name."""
STATES = ("green", "amber", "red")
DECISIONS = ("admitted", "shed")
MINUTE = 60


class Sample(NamedTuple):
    """One value of a metric."""

    meter: Meter
    labels: tuple[str, ...]
    value: float


def samples(pool: PoolSnapshot) -> Iterator[Sample]:
    """All of a pool. What isn't known has no sample."""
    yield from _counted(pool)
    yield from _limits(pool)
    yield from _queues(pool)
    yield from _callers(pool)
    yield from _provider(pool)
    yield from _switches(pool)


def _counted(pool: PoolSnapshot) -> Iterator[Sample]:
    totals: dict[str, ClassTally] = {}
    for slug, tally in pool.totals.items():
        totals.setdefault(slug or UNTAGGED, ClassTally()).add(tally)
    for slug, tally in totals.items():
        labels = pool.view["slug"], slug
        yield Sample(meters.OFFERED, labels, tally.offered)
        yield Sample(meters.ADMITTED, labels, tally.admitted)
        # Each from 0 on: Prometheus doesn't take a counter that appears for one that rose.
        for reason in REASONS:
            yield Sample(meters.SHED, (*labels, reason), tally.shed.get(reason, 0))
        observes = pool.view["mode"] == Mode.OBSERVE
        for would_be in REASONS if observes else tally.would_shed:
            yield Sample(meters.WOULD_SHED, (*labels, would_be), tally.would_shed.get(would_be, 0))
        yield Sample(meters.EXPIRED, labels, tally.expired)
        yield Sample(meters.LEASES_EXPIRED, labels, tally.lease_expired)
        yield Sample(meters.ESTIMATED, labels, tally.estimated_tokens)
        # Neither falls: what is taken back of the one is counted by the other.
        yield Sample(meters.USED, labels, tally.used_tokens + tally.corrected_tokens)
        yield Sample(meters.CORRECTED, labels, tally.corrected_tokens)
        yield Sample(meters.REFUNDED, labels, tally.refunded_tokens)
        yield Sample(meters.OVERRUN, labels, tally.overrun_tokens)


def _limits(pool: PoolSnapshot) -> Iterator[Sample]:
    view = pool.view
    named = [(_name(limit), limit) for limit in view["limits"]]
    named += [(f"batch {_name(limit)}", limit) for limit in view["batch_limits"]]
    for name, limit in named:
        labels = view["slug"], name
        yield Sample(meters.AVAILABLE, labels, limit["available"])
        yield Sample(meters.CAPACITY, labels, limit["capacity"])
        if limit["algorithm"] == "gauge":
            yield Sample(meters.HELD, labels, limit["capacity"] - limit["available"])
        for slug, floor in limit.get("floors", {}).items():
            yield Sample(meters.FLOOR_UNSPENT, (*labels, slug), floor["unspent"])
            yield Sample(meters.FLOOR_EFFECTIVE, (*labels, slug), floor["effective"])


def _name(limit: dict[str, str]) -> str:
    return f"{limit['unit']}/{limit['algorithm']}"


def _queues(pool: PoolSnapshot) -> Iterator[Sample]:
    for slug, queue in pool.queues.items():
        labels = pool.view["slug"], slug
        yield Sample(meters.DEPTH, labels, queue.depth)
        yield Sample(meters.RUNNING, labels, queue.running)
        if queue.oldest_wait_seconds is not None:
            yield Sample(meters.OLDEST_WAIT, labels, queue.oldest_wait_seconds)
        for state in STATES:
            yield Sample(meters.QUEUE_STATE, (*labels, state), queue.state == state)


def _callers(pool: PoolSnapshot) -> Iterator[Sample]:
    slug = pool.view["slug"]
    untagged = sum(tally.untagged for tally in pool.totals.values())
    yield Sample(meters.UNTAGGED, (slug,), untagged)
    yield Sample(meters.CALLERS, (slug,), pool.processes)
    decided = Counter[tuple[str, str, str]]()
    tokens = Counter[tuple[str, str]]()
    for total in pool.away:
        member = total.workload_class or UNTAGGED
        decided[member, total.choice, "admitted"] += total.admitted
        decided[member, total.choice, "shed"] += total.shed
        tokens[member, total.choice] += total.input_tokens + total.output_tokens
    members = {*pool.view["classes"], UNTAGGED, *(member for member, _ in tokens)}
    for member, choice in product(sorted(members), Unavailable.values):
        yield Sample(meters.AWAY_TOKENS, (slug, member, choice), tokens[member, choice])
        for decision in DECISIONS:
            count = decided[member, choice, decision]
            yield Sample(meters.AWAY_CALLS, (slug, member, choice, decision), count)


def _provider(pool: PoolSnapshot) -> Iterator[Sample]:
    view = pool.view
    rated = {limit["unit"] for limit in view["limits"] if limit["algorithm"] != "gauge"}
    for unit in sorted(rated | pool.leaked.keys()):
        yield Sample(meters.LEAKED, (view["slug"], unit), pool.leaked.get(unit, 0))
    for said in pool.provider_limits:
        if said.amount is not None:
            amount = said.amount * MINUTE / said.per_seconds
            yield Sample(meters.PROVIDER_LIMIT, (view["slug"], said.unit), amount)
    for slug, member in view["classes"].items():
        backoff = member["backoff_until"] is not None
        yield Sample(meters.BACKOFF, (view["slug"], slug), backoff)
    yield Sample(meters.SPEND_CAP, (view["slug"],), view["spend_cap_reached"])


def _switches(pool: PoolSnapshot) -> Iterator[Sample]:
    view = pool.view
    for slug, member in view["classes"].items():
        yield Sample(meters.CLASS_PAUSED, (view["slug"], slug), member["paused"])
    yield Sample(meters.POOL_PAUSED, (view["slug"],), view["paused"])
    for mode in Mode.values:
        yield Sample(meters.POOL_MODE, (view["slug"], mode), view["mode"] == mode)
