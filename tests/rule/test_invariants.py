"""The invariants of the design that concern the rule, each by its number and name."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from unittest.mock import patch

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from budget.rule import meter
from budget.rule.checks import problems
from budget.rule.decision import REASONS, TOLERANCE
from budget.rule.idle import largest_calls, reach
from budget.rule.terms import SECOND, ClassTerms, LimitTerms, PoolTerms
from tests.rule import generators
from tests.rule.generators import MONTH, Day, Offered
from tests.rule.model import FAR, Call
from tests.rule.model_limits import Edit, History, exact
from tests.rule.world import World, bucket_levels

ROUNDING = 1e-3
"""Units by which thousands of float operations and admitted tolerances may add up."""


@given(day=generators.days())
def test_1_no_over_admission(day: Day) -> None:
    """Net of refunds, overrun aside, since the last edit that lowered a limit."""
    world = World(day.terms)
    for step in day.steps:
        world.live(step)
        for limit in world.terms.limits:
            history = world.model.histories[limit.name]
            for charged, most in drawn_until(world.now, limit, history):
                assert charged <= most + ROUNDING


def drawn_until(now: int, limit: LimitTerms, history: History) -> Iterator[tuple[float, float]]:
    """What was drawn, and the most that may be, in every interval that ends now."""
    charges = [charge for charge in history.charges() if charge.at >= last_lowered(history)]
    if limit.algorithm == "gauge":
        yield sum(charge.cost for charge in charges if charge.held), limit.amount
    for first in charges:
        span = now - first.at
        drawn = sum(min(charge.real, charge.cost) for charge in charges if charge.at >= first.at)
        if limit.algorithm == "token_bucket":
            yield drawn, limit.capacity + limit.rate * span
        elif limit.algorithm == "sliding_window" and span <= limit.period:
            yield drawn, limit.amount


def last_lowered(history: History) -> int:
    """When the limit last became smaller or slower; its first moment if never."""
    edits = [event for event in history.events if isinstance(event, Edit)]
    lowered = [
        new.at
        for old, new in pairwise(edits)
        if new.size.capacity < old.size.capacity or new.size.rate < old.size.rate
    ]
    return max([history.born, *lowered])


@given(day=generators.days())
def test_2_a_call_within_its_effective_floor_is_admitted(day: Day) -> None:
    """Ceiling, pause and a provider's wish aside."""
    aside = ("paused", "deadline_unmeetable", "provider_backoff", "ceiling")
    world = World(day.terms)
    for step in day.steps:
        outcome = world.live(step)
        if outcome is None or outcome.call.slug is None:
            continue
        decision = outcome.decision
        if all(standing.cost <= standing.own_floor for standing in decision.standings):
            reason = decision.reason or decision.would_be
            assert reason is None or reason in aside


@given(day=generators.days(editing=False, overruns=False))
def test_2_the_strictest_tiers_floor_is_its_nominal_unspent_one(day: Day) -> None:
    """Without overrun or edit there is always enough to cover it."""
    world = World(day.terms)
    strictest = [day.terms.classes[c].slug for c in day.terms.tiers[0]]
    for step in day.steps:
        world.live(step)
        for name, history in world.model.histories.items():
            for slug in strictest:
                unspent = history.reading(world.now, slug).unspent[slug]
                own_floor = world.probe(slug, {name: 1}).standings[0].own_floor
                assert own_floor == pytest.approx(float(unspent), rel=1e-9, abs=ROUNDING)


@given(
    day=generators.days(plain=True),
    cost=st.integers(1, 700),
    pair=st.lists(st.integers(0, 4), min_size=2, max_size=2, unique=True),
)
def test_3_the_looser_class_is_shed_first(day: Day, cost: int, pair: list[int]) -> None:
    """What a looser class gets beyond its own floor, a stricter one gets beyond its own.

    Both are asked for the same on top of what their own floors cover. Unlent floors keep
    out the stricter class no more than the looser one: they belong to classes that are
    no stricter than both, or to the looser one itself.
    """
    world = World(day.terms)
    for step in day.steps:
        world.live(step)
    members = [member.slug for member in world.terms.classes]
    stricter, looser = sorted(c % len(members) for c in pair)
    assume(stricter < looser)

    costs = {name: max(1, cost * int(size) // 1000) for name, size in capacities(world.terms)}
    within = {
        c: [standing.own_floor for standing in world.probe(members[c], costs).standings]
        for c in (stricter, looser)
    }
    more = {
        c: {name: k + int(floor) for (name, k), floor in zip(costs.items(), floors, strict=True)}
        for c, floors in within.items()
    }
    beyond = {name: k + 1 for name, k in more[looser].items()}
    if world.probe(members[looser], beyond).admitted:
        assert world.probe(members[stricter], more[stricter]).admitted


def capacities(terms: PoolTerms) -> list[tuple[str, float]]:
    return [(limit.name, limit.capacity) for limit in terms.limits]


@given(day=generators.days())
def test_4_a_refusal_changes_no_balance(day: Day) -> None:
    world = World(day.terms)
    for step in day.steps:
        outcome = world.live(step)
        if outcome is not None and (outcome.verdict.reason or not outcome.decision.admitted):
            before, after = outcome.before, world.state
            assert after.levels == before.levels
            assert after.call_times == before.call_times
            assert outcome.decision.charges == []


@given(day=generators.days())
def test_6_refunds_are_jointly_exact(day: Day) -> None:
    """A level is what it would be had every real cost been charged at admission."""
    world = World(day.terms)
    for step in day.steps:
        world.live(step)
        for rule, rightful in bucket_levels(world):
            assert rule == pytest.approx(rightful, rel=1e-9, abs=ROUNDING)


@given(day=generators.days(shortest=8, longest=30, algorithms=["token_bucket"], editing=False))
def test_6_refunds_are_never_too_large_when_rooms_are_merged(day: Day) -> None:
    """With hardly any memory refunds shrink, and never grow."""
    with patch.object(meter, "MOST_ROOMS", 3):
        world = World(day.terms)
        for step in day.steps:
            world.live(step)
            for rule, rightful in bucket_levels(world):
                assert rule <= rightful + ROUNDING


@given(
    terms=generators.policies(plain=True, algorithms=["token_bucket"]),
    caller=st.integers(0, 4),
    waits=st.lists(st.integers(SECOND, 100 * SECOND), min_size=1, max_size=8),
)
def test_7_a_class_alone_reaches_all_of_a_buckets_flow(
    terms: PoolTerms, caller: int, waits: list[int]
) -> None:
    """Drained as far as it can, it gets all that flows in, whatever floors others have."""
    terms = replace(terms, limits=terms.limits[:1])
    world, c = World(terms), caller % len(terms.classes)
    slug, limit = terms.classes[c].slug, terms.limits[0]
    largest = int(largest_calls(terms)[c][0] + TOLERANCE)
    assume(largest)
    assert world.ask(slug, largest).decision.admitted
    flow, used = Fraction(limit.amount, limit.period), 0
    for wait in waits:
        world.wait(wait)
        due = min(largest, int(flow * (world.now - generators.START) - used))
        if due:
            assert world.ask(slug, due).decision.admitted
            used += due
        if due == largest:
            break
    assert reach(terms, c, 0) == 1


@given(terms=generators.policies(plain=True, algorithms=["gauge"]), caller=st.integers(0, 4))
def test_7_a_class_alone_reaches_what_others_leave_of_a_gauge(
    terms: PoolTerms, caller: int
) -> None:
    terms = replace(terms, limits=terms.limits[:1])
    world, c = World(terms), caller % len(terms.classes)
    slug, limit = terms.classes[c].slug, terms.limits[0]
    part = unprotected(terms, c)
    assert reach(terms, c, 0) == pytest.approx(float(part))
    most = int(float(part * limit.amount) + TOLERANCE)
    for cost in (most // 2, most - most // 2):
        if cost:
            assert world.ask(slug, cost).decision.admitted
    assert not world.ask(slug, 1).decision.admitted


@given(
    terms=generators.policies(plain=True, algorithms=["sliding_window"]), caller=st.integers(0, 4)
)
def test_7_a_class_alone_reaches_60_of_61_parts_of_what_others_leave_of_a_window(
    terms: PoolTerms, caller: int
) -> None:
    limit = replace(terms.limits[0], per_seconds=60)
    terms = replace(terms, limits=(limit,))
    world, c = World(terms), caller % len(terms.classes)
    part = unprotected(terms, c)
    assert reach(terms, c, 0) == pytest.approx(float(part * 60 / 61))
    each_second = int(part * limit.amount / 61)
    if each_second:
        for _ in range(70):
            world.wait(SECOND)
            assert world.ask(terms.classes[c].slug, each_second).decision.admitted


def unprotected(terms: PoolTerms, c: int) -> Fraction:
    """The part of the first limit that no other class's floor keeps from a class."""
    world = World(terms)
    caller, name = terms.classes[c].slug, terms.limits[0].name
    return Fraction(1) - sum(
        world.model.protection(caller, owner.slug) * exact(owner.share)
        for owner in terms.classes
        if name not in owner.except_limits
    )


@given(day=generators.days())
def test_7_an_idle_pool_admits_whatever_fits(day: Day) -> None:
    """Once every lease has ended and time has passed, each class's largest call."""
    world = World(day.terms)
    for step in day.steps:
        world.live(step)
    for index in range(len(world.leases)):
        world.expire(index)
    world.wait(FAR)
    for c, member in enumerate(world.terms.classes):
        costs = {
            limit.name: int(largest_calls(world.terms)[c][d] + TOLERANCE)
            for d, limit in enumerate(world.terms.limits)
        }
        decision = world.probe(member.slug, costs)
        assert decision.admitted or decision.reason == "paused"


@given(terms=generators.policies(), more=st.integers(1, 100), caller=st.integers(0, 4))
def test_8_shares_beyond_the_whole_are_refused(terms: PoolTerms, more: int, caller: int) -> None:
    """Up to 100 % nothing is said of them."""
    assert not concerning_the_sum(terms)
    c = caller % len(terms.classes)
    others = sum(member.share for member in terms.classes) - terms.classes[c].share
    greedy = replace(terms.classes[c], share=1 - others + more / 100, ceiling=2.0)
    members = (*terms.classes[:c], greedy, *terms.classes[c + 1 :])
    assert concerning_the_sum(replace(terms, classes=members))


def concerning_the_sum(terms: PoolTerms) -> list[str]:
    """Messages about the shares of the whole pool, not of one class."""
    return [
        problem.message
        for problem in problems(terms)
        if (problem.owner, problem.field) == ("", "share_percent")
    ]


@given(day=generators.days())
def test_9_a_retry_alone_is_admitted_at_its_moment_and_not_before(day: Day) -> None:
    """Without outstanding promises or a binding gauge."""
    world = World(day.terms)
    for step in day.steps:
        outcome = world.live(step)
        if outcome is None or not outcome.decision.retryable:
            continue
        decision = outcome.decision
        assert decision.retry_after_ms is not None
        if outcome.promised or outcome.estimated or decision.reason == "paused":
            continue
        moment = world.now + decision.retry_after_ms * 1000
        assert world.probe_at(moment, outcome.call).admitted
        assert not world.probe_at(moment - 1000, outcome.call).admitted


def test_9_a_retry_that_could_only_come_at_the_deadline_is_too_late() -> None:
    """At its deadline a call is already unmeetable, so no retry is promised then."""
    limit = LimitTerms(
        unit="requests", algorithm="token_bucket", amount=60, per_seconds=60, burst_percent=10
    )
    owner = ClassTerms(slug="adjuster", tier="interactive", deadline=5 * SECOND)
    world = World(PoolTerms(slug="claims", version=1, limits=(limit,), classes=(owner,)))
    assert world.ask("adjuster", 6).decision.admitted
    for patience, retryable in ((SECOND, False), (SECOND + 1, True)):
        call = Call("adjuster", (1,), world.now + patience)
        assert world.probe_at(world.now, call).retryable is retryable


@given(
    day=generators.days(plain=True, algorithms=["token_bucket"], editing=False),
    caller=st.integers(0, 4),
    size=st.integers(0, 400),
    callers=st.integers(2, 6),
)
def test_9_promised_callers_come_back_one_after_another(
    day: Day, caller: int, size: int, callers: int
) -> None:
    """None of a herd of equals that comes back as promised is refused again.

    On one limit: where several bind in turn, a bucket may overflow while another one makes
    its callers wait, which the promises do not foresee.
    """
    world = World(replace(day.terms, limits=day.terms.limits[:1]))
    for step in day.steps:
        world.live(step)
    world.state.promises.clear()
    promised = []
    for key in range(callers):
        call = world.call_of(Offered(caller, size, size, patience=MONTH))
        decision = world.offer(call, f"herd-{key}").decision
        if decision.retryable:
            assert decision.retry_after_ms is not None
            promised.append((world.now + decision.retry_after_ms * 1000, key, call))
    for moment, key, call in sorted(promised, key=lambda promise: promise[:2]):
        world.wait(moment - world.now)
        assert world.offer(call, f"herd-{key}").decision.admitted


@given(day=generators.days())
def test_10_a_decision_from_the_stored_state_is_the_same(day: Day) -> None:
    kept, stored = World(day.terms), World(day.terms, through_json=True)
    for step in day.steps:
        one, other = kept.live(step), stored.live(step)
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert one.decision == other.decision
            assert one.decision.reason is None or one.decision.reason in REASONS
    assert kept.state == stored.state
