"""What would have let a call in, put to the rule again."""

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given

from budget.rule.admission import offer
from budget.rule.decision import Decision
from budget.rule.idle import largest_calls
from budget.rule.pool import Offer
from budget.rule.remedies import BEFORE, Change, Numbers, Way, unit_of, ways
from budget.rule.strategies import reserved_splits
from budget.rule.terms import ClassTerms, PoolTerms
from tests.rule import generators
from tests.rule.pools import Driver, limit, pool, workload
from tests.rule.world import Outcome, World, copy_of

CLASSES = (
    workload("adjuster", share=0.5),
    workload("rescore", share=0.2, lendable=0.7, headroom=0.05),
    workload("nightly", lendable=1.0, headroom=0.1),
)


def numbers_of(terms: PoolTerms, decision: Decision) -> Numbers:
    c = decision.workload_class
    assert c is not None
    reason = decision.reason or decision.would_be
    most = zip(terms.limits, largest_calls(terms)[c], strict=True)
    return Numbers(
        standings=tuple(decision.standings),
        before=reason if reason in BEFORE else None,
        yields_above=terms.classes[c].yields_above,
        largest={each.name: largest for each, largest in most},
    )


def found(driver: Driver, slug: str, *costs: int) -> list[Way]:
    """The ways for a call that must be shed."""
    decision = driver.offer(slug, *costs)
    assert not decision.admitted
    return ways(numbers_of(driver.terms, decision))


def refusals(day: generators.Day) -> Iterator[tuple[PoolTerms, Outcome, Numbers]]:
    """Every call of a day that was shed or would have been, with the numbers of its decision."""
    world = World(day.terms)
    for step in day.steps:
        outcome = world.live(step)
        if outcome is None or outcome.decision.workload_class is None:
            continue
        if outcome.decision.reason or outcome.decision.would_be:
            yield world.terms, outcome, numbers_of(world.terms, outcome.decision)


def after(numbers: Numbers, way: Way) -> Numbers:
    for change in way:
        numbers = numbers.after(change)
    return numbers


def a_little_less(change: Change) -> Change | None:
    """The change, not quite as large; None for one that can't be made smaller."""
    match change.what:
        case "cost":
            return change._replace(amount=change.amount + 1)
        case "own_floor" | "ceiling":
            return change._replace(amount=change.amount - tiny(change.amount))
        case "protected" | "headroom":
            return change._replace(amount=change.amount + tiny(change.amount))
        case "yields_above":
            bound = 1.0 if change.amount is None else change.amount - 1e-5
            return change._replace(amount=bound)
    return None


def tiny(amount: float) -> float:
    """Beyond the tolerance, whatever the size."""
    return max(1e-4, abs(amount) * 1e-9)


@given(generators.days())
def test_the_numbers_name_the_reason_of_the_refusal(day: generators.Day) -> None:
    for _, outcome, numbers in refusals(day):
        decision = outcome.decision
        assert numbers.obstacle() == (decision.reason or decision.would_be, decision.limit)


@given(generators.days())
def test_each_way_is_enough_and_nothing_less_is(day: generators.Day) -> None:
    for _, _, numbers in refusals(day):
        for way in ways(numbers):
            assert after(numbers, way).obstacle() is None
            for n, change in enumerate(way):
                without = way[:n] + way[n + 1 :]
                assert after(numbers, without).obstacle() is not None
                if less := a_little_less(change):
                    nearly = (*way[:n], less, *way[n + 1 :])
                    assert after(numbers, nearly).obstacle() is not None


@given(generators.days())
def test_a_smaller_call_is_admitted_by_the_rule_itself(day: generators.Day) -> None:
    for terms, outcome, numbers in refusals(day):
        for way in ways(numbers):
            if {change.what for change in way} == {"cost"}:
                most = {change.where: int(change.amount or 0) for change in way}
                assert is_let_in(decided(terms, outcome, most))
                for unit in most:
                    more = most | {unit: most[unit] + 1}
                    assert decided(terms, outcome, more).reason is not None


@given(generators.days())
def test_eased_terms_admit_the_call_by_the_rule_itself(day: generators.Day) -> None:
    for terms, outcome, numbers in refusals(day):
        for way in ways(numbers):
            eased = eased_terms(terms, outcome.decision, way)
            if eased is not None:
                assert is_let_in(decided(eased, outcome, {}))


def is_let_in(decision: Decision) -> bool:
    """Whether no number is against it; a reason of another kind may have hidden behind them."""
    return decision.admitted or decision.reason in BEFORE


def decided(terms: PoolTerms, outcome: Outcome, most: dict[str, int]) -> Decision:
    """The call again, at the same moment, with costs of at most so many units."""
    terms = msgspec.structs.replace(terms, mode="enforce")
    costs = tuple(
        min(cost, most.get(each.unit, cost))
        for each, cost in zip(terms.limits, outcome.call.costs, strict=True)
    )
    call = Offer(
        workload_class=outcome.decision.workload_class,
        costs=costs,
        deadline=outcome.call.deadline,
        key="again",
    )
    return offer(terms, copy_of(outcome.before), call)


def eased_terms(terms: PoolTerms, decision: Decision, way: Way) -> PoolTerms | None:
    """The policy with the terms of the way; None if the way asks for more than other terms."""
    c = decision.workload_class
    assert c is not None
    member, paused = terms.classes[c], terms.paused
    for change in way:
        if change.where == "paused":
            paused, member = False, msgspec.structs.replace(member, paused=False)
        elif change.what == "yields_above":
            member = msgspec.structs.replace(member, yields_above=change.amount)
        elif change.what == "headroom":
            member = msgspec.structs.replace(
                member, headroom=min(member.headroom, headroom_of(terms, decision, change))
            )
        else:
            return None
    classes: list[ClassTerms] = list(terms.classes)
    classes[c] = member
    return msgspec.structs.replace(terms, paused=paused, classes=tuple(classes))


def headroom_of(terms: PoolTerms, decision: Decision, change: Change) -> float:
    d = terms.limit_index[change.where]
    assert change.amount is not None
    return change.amount / reserved_splits(terms)[d].unreserved


def test_a_smaller_call_or_an_own_floor_or_less_kept_for_others() -> None:
    driver = Driver(pool([limit(1000)], *CLASSES))
    driver.offer("nightly", 250)
    assert found(driver, "nightly", 100) == [
        (Change("cost", "total_tokens", 50),),
        (Change("own_floor", "total_tokens/token_bucket", 100.0),),
        (Change("protected", "total_tokens/token_bucket", 650.0),),
    ]


def test_a_call_that_never_fits_is_no_larger_than_an_idle_pool_allows() -> None:
    driver = Driver(pool([limit(1000)], *CLASSES))
    assert found(driver, "nightly", 900) == [
        (Change("cost", "total_tokens", 300),),
        (Change("own_floor", "total_tokens/token_bucket", 900.0),),
    ]


def test_headroom_counts_only_while_a_stricter_class_is_at_work() -> None:
    driver = Driver(pool([limit(1000)], *CLASSES))
    driver.offer("adjuster", 1)
    ways_in = found(driver, "nightly", 290)
    assert (Change("headroom", "total_tokens/token_bucket", 10.0),) in ways_in


@pytest.mark.parametrize("paused", ["class", "pool"])
def test_a_pause_is_the_first_thing_to_lift(paused: str) -> None:
    member = workload("nightly", paused=paused == "class")
    driver = Driver(pool([limit(1000)], member, paused=paused == "pool"))
    lifted = Change("reason", "paused")
    assert found(driver, "nightly", 10) == [(lifted,)]
    assert all(way[0] == lifted and len(way) > 1 for way in found(driver, "nightly", 2000))


def test_a_single_request_cannot_be_smaller() -> None:
    driver = Driver(pool([limit(1, "gauge", unit="requests")]))
    driver.offer("nightly", 1)
    assert found(driver, "nightly", 1) == [(Change("own_floor", "requests/gauge", 1.0),)]


def test_limits_that_count_the_same_share_one_bound() -> None:
    terms = pool([limit(1000), limit(300, "gauge")])
    driver = Driver(terms)
    driver.offer("nightly", 250, 250)
    assert found(driver, "nightly", 200, 200)[0] == (Change("cost", "total_tokens", 50),)
    assert unit_of("total_tokens/gauge") == "total_tokens"


def test_a_class_that_yields_may_fall_back_on_its_own_floor() -> None:
    driver = Driver(
        pool(
            [limit(1000)],
            workload("adjuster", share=0.5),
            workload("nightly", share=0.2, yields_above=0.5),
        )
    )
    driver.offer("adjuster", 400)
    smaller, reserved, eased = found(driver, "nightly", 250)
    assert smaller == (Change("cost", "total_tokens", 200),)
    assert reserved == (Change("own_floor", "total_tokens/token_bucket", 250.0),)
    assert [change.what for change in eased] == ["yields_above"]
    assert eased[0].amount == pytest.approx(0.8, abs=1e-5)


def test_an_admitted_call_needs_nothing() -> None:
    driver = Driver(pool([limit(1000)], *CLASSES))
    assert ways(numbers_of(driver.terms, driver.offer("nightly", 10))) == []
