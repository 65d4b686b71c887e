"""Refunds that hypothesis once caught giving back too much, told one by one."""

from msgspec.structs import replace

from budget.rule.terms import SECOND, ClassTerms, LimitTerms, PoolTerms
from tests.rule.generators import MONTH
from tests.rule.model import Call
from tests.rule.world import World

ADJUSTER = ClassTerms(slug="adjuster", tier="interactive", deadline=5 * SECOND)
BUCKET = LimitTerms(
    unit="total_tokens", algorithm="token_bucket", amount=6000, per_seconds=60, burst_percent=10
)
GAUGE = LimitTerms(unit="requests", algorithm="gauge", amount=3)


def test_what_a_refill_had_made_good_is_not_refunded_on_top_of_an_overrun() -> None:
    """The bucket was full again when the overrun fell due, so the refund adds nothing."""
    world = World(pool(BUCKET))
    ask(world, 100)
    ask(world, 50)
    world.wait(10 * SECOND)
    world.settle(0, used_percent=200)
    world.settle(0, used_percent=None)
    assert available(world, BUCKET) == 500


def test_what_a_full_bucket_had_lost_is_not_refunded_into_a_larger_one() -> None:
    world = World(pool(BUCKET))
    ask(world, 100)
    world.wait(10 * SECOND)
    world.edit(pool(replace(BUCKET, burst_percent=100)))
    world.settle(0, used_percent=None)
    assert available(world, BUCKET) == 600


def test_a_lease_of_a_removed_gauge_frees_nothing_in_one_added_again() -> None:
    world = World(pool(BUCKET, GAUGE))
    ask(world, 100, 1)
    world.edit(pool(BUCKET))
    world.edit(pool(BUCKET, GAUGE))
    world.expire(0)
    assert available(world, GAUGE) == 3


def pool(*limits: LimitTerms) -> PoolTerms:
    return PoolTerms(slug="claims", version=1, limits=limits, classes=(ADJUSTER,))


def ask(world: World, *costs: int) -> None:
    outcome = world.offer(Call("adjuster", costs, world.now + MONTH))
    assert outcome.decision.admitted


def available(world: World, limit: LimitTerms) -> float:
    return world.probe("adjuster", {limit.name: 1}).standings[0].available
