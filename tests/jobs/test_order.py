"""Which of several jobs is taken first."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from budget import services
from budget.models import Job, Pool, Reservation, WorkloadClass
from tests.jobs.accounts import check_accounts
from tests.jobs.clock import Clock, clock
from tests.jobs.queueing import BATCHED, enqueue, finish, take, take_one
from tests.ledger.pools import make_classes, make_pool

__all__ = ["clock"]


@pytest.fixture(autouse=True)
def pool() -> Pool:
    """The claims pool, with room for everything."""
    make_classes()
    return make_pool({"unit": "requests", "algorithm": "gauge", "amount": 10_000})


def test_the_strictest_tier_comes_first_then_the_earliest_deadline() -> None:
    places = {
        "bulk": enqueue("nightly", deadline_ms=10_000),
        "later": enqueue(),
        "sooner": enqueue(deadline_ms=60_000),
    }
    order = [take_one().id for _ in range(3)]
    assert order == [places[name].id for name in ("sooner", "later", "bulk")]


def test_peers_share_by_weight(pool: Pool) -> None:
    archive = WorkloadClass.objects.create(slug="archive", tier="bulk", deadline_seconds=40_000)
    Reservation.objects.create(pool=pool, workload_class=archive, weight=3)
    for slug in ("nightly", "archive"):
        for _ in range(60):
            enqueue(slug, tokens=100)
    taken = [job.workload_class for _ in range(5) for job in take(8).jobs]
    assert taken.count("archive") == pytest.approx(30, abs=1)
    check_accounts(pool)


def test_a_queue_whose_oldest_waited_long_serves_the_newest_first(clock: Clock) -> None:
    old = enqueue(deadline_ms=100_000)
    clock.forward(45)
    newer = [enqueue(), enqueue()]
    assert take_one().id == old.id
    old = enqueue(deadline_ms=100_000)
    clock.forward(55)
    newest = enqueue()
    assert take_one().id == newest.id
    view = services.queues("claims")["rescore"]
    assert (view.order, view.state) == ("newest_first", "amber")
    assert [take_one().id for _ in range(3)] == [old.id, newer[0].id, newer[1].id]
    assert services.queues("claims")["rescore"].order == "earliest_deadline"


def test_the_order_turns_back_at_half_of_the_part(clock: Clock) -> None:
    oldest, first = enqueue(deadline_ms=100_000), enqueue(deadline_ms=200_000)
    clock.forward(60)
    take_one()
    assert services.queues("claims")["rescore"].order == "newest_first"
    Job.objects.filter(pk__in=[oldest.id, first.id], state="queued").update(
        enqueued_at=F("enqueued_at") + timedelta(seconds=25)
    )
    take(0)
    assert services.queues("claims")["rescore"].order == "newest_first"
    Job.objects.filter(state="queued").update(enqueued_at=F("enqueued_at") + timedelta(seconds=25))
    take(0)
    assert services.queues("claims")["rescore"].order == "earliest_deadline"


def test_the_newest_are_first_whether_a_batch_endpoint_could_take_them_or_not(
    clock: Clock,
) -> None:
    enqueue("nightly", deadline_ms=100_000)
    clock.forward(60)
    ids = []
    for n in range(6):
        fields: dict[str, Any] = {"task": BATCHED, "args": {"model": "small"}} if n % 2 else {}
        ids.append(enqueue("nightly", deadline_ms=100_000, **fields).id)
    assert [job.id for job in take(6).jobs] == ids[::-1]


def test_a_setting_turns_the_newest_first_off(clock: Clock, settings: Any) -> None:
    settings.BUDGET_NEWEST_FIRST_AFTER = 1
    old = enqueue(deadline_ms=100_000)
    clock.forward(80)
    enqueue()
    assert take_one().id == old.id


def test_under_overload_the_served_are_served_in_time(clock: Clock, pool: Pool) -> None:
    """Offered three times what is taken: nothing begins late, and those served waited little."""
    waits = []
    for _ in range(60):
        for _ in range(6):
            enqueue(deadline_ms=30_000, tokens=1)
        clock.forward(1)
        for job in take(2).jobs:
            stored = Job.objects.get(pk=job.id)
            assert stored.started_at is not None
            waits.append((stored.started_at - stored.enqueued_at).total_seconds())
            assert stored.started_at < stored.deadline
            finish(job)
    assert len(waits) == 120
    assert sorted(waits)[len(waits) // 2] < 10
    check_accounts(pool)
