"""Every decision of the rule is the slow model's decision, to the number."""

import math

import pytest
from hypothesis import given

from tests.rule import generators
from tests.rule.generators import Day
from tests.rule.model import Model
from tests.rule.world import Outcome, World

FOREVER = 10**12
NEAR = 1e-6
UNSURE = 2e-7
"""A comparison that falls out this close may go either way in floats."""


@given(day=generators.days())
def test_every_decision_is_the_models(day: Day) -> None:
    """Reason, limit, arithmetic and Retry-After, after any history of offers and settles."""
    world = World(day.terms)
    for step in day.steps:
        outcome = world.live(step)
        if outcome is not None:
            expect_same_reason(outcome)
            expect_same_numbers(world.model, outcome, world.now)
            expect_same_retry(world.model, outcome, world.now)


def expect_same_reason(outcome: Outcome) -> None:
    decision, verdict = outcome.decision, outcome.verdict
    if verdict.margin < UNSURE:
        return
    reason = decision.reason or decision.would_be
    assert (reason, decision.limit) == (verdict.reason, verdict.limit)


def expect_same_numbers(model: Model, outcome: Outcome, now: int) -> None:
    call, decision = outcome.call, outcome.decision
    if call.slug is None or not decision.standings or decision.admitted:
        return
    expected = model.numbers(call, now)
    assert len(decision.standings) == len(expected)
    for standing, numbers in zip(decision.standings, expected, strict=True):
        assert standing.limit == numbers.limit
        assert standing.cost == numbers.cost
        assert standing.available == about(numbers.available)
        assert standing.own_floor == about(numbers.own_floor)
        assert standing.free == about(numbers.free)
        assert standing.headroom == about(numbers.headroom)
        assert standing.interactive_floors_spent == about(numbers.spent)
        for slug, kept in numbers.protected.items():
            assert standing.protected.get(slug, 0.0) == about(kept)
        if numbers.ceiling_left is None:
            assert standing.ceiling_left is None
        else:
            assert standing.ceiling_left == about(numbers.ceiling_left)


def expect_same_retry(model: Model, outcome: Outcome, now: int) -> None:
    decision, call = outcome.decision, outcome.call
    if outcome.verdict.margin < UNSURE:
        return
    if decision.admitted:
        assert (decision.retryable, decision.retry_after_ms) == (False, None)
        return
    if decision.reason in ("untagged", "never_fits", "deadline_unmeetable"):
        assert (decision.retryable, decision.retry_after_ms) == (False, None)
        return
    if decision.retryable:
        assert decision.retry_after_ms is not None
        assert decision.retry_after_ms >= 1
        assert now + decision.retry_after_ms * 1000 < call.deadline
    if decision.reason == "paused":
        assert decision.retry_after_ms is None or 30_000 <= decision.retry_after_ms < 60_000
        return
    moment = model.earliest(call, now)
    if moment is None or outcome.estimated:
        return
    expected = math.ceil((moment - now) / 1000)
    if now + (expected + 1) * 1000 > call.deadline:
        assert not decision.retryable or decision.retry_after_ms == pytest.approx(expected, abs=1)
    elif outcome.promised:
        gauged = any(standing.limit.endswith("/gauge") for standing in decision.standings)
        assert gauged or (decision.retry_after_ms or FOREVER) >= expected - 1
    else:
        assert decision.retry_after_ms == pytest.approx(expected, abs=1)


def about(number: object) -> object:
    return pytest.approx(float(number), rel=1e-9, abs=NEAR)  # type: ignore[arg-type]
