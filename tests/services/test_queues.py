"""How queues stand, and waiting until one takes jobs freely."""

import threading
import time
from uuid import UUID

import pytest
from django.db import connections

from budget import services
from budget.models import Pool, WorkloadClass
from budget.services import UnknownClass, UnknownPool
from tests.jobs.clock import Clock, clock
from tests.jobs.queueing import enqueue, finish, take, take_one
from tests.ledger.pools import admit, make_pool

__all__ = ["clock"]

pytestmark = pytest.mark.usefixtures("classes")


@pytest.fixture(autouse=True)
def _pool(classes: dict[str, WorkloadClass]) -> None:
    make_pool()


def bound(**fields: int) -> None:
    WorkloadClass.objects.filter(slug="rescore").update(**fields)


def cancelling(job_id: UUID) -> None:
    """In a thread of its own."""
    try:
        services.cancel_job(job_id)
    finally:
        connections.close_all()


def test_only_classes_that_wait_have_a_queue() -> None:
    queues = services.queues("claims")
    assert list(queues) == ["rescore", "nightly"]
    assert queues["rescore"].state == "green"
    assert (queues["rescore"].depth, queues["rescore"].oldest_wait_seconds) == (0, None)
    assert queues["rescore"].expected_wait_seconds == 0


def test_a_queue_counts_what_waits_and_what_runs() -> None:
    for _ in range(3):
        enqueue(tokens=1000)
    take()
    queue = services.queues("claims")["rescore"]
    assert (queue.depth, queue.tokens, queue.running) == (2, 2000, 1)
    assert queue.taken_per_minute > 0
    assert queue.expected_wait_seconds == pytest.approx(2, rel=0.3)
    assert queue.waits_for is None
    assert services.queues("claims")["nightly"].depth == 0


@pytest.mark.parametrize(("jobs", "state"), [(4, "green"), (5, "amber"), (8, "amber"), (9, "red")])
def test_the_state_follows_how_full_a_queue_is(jobs: int, state: str) -> None:
    bound(queue_limit=10)
    for _ in range(jobs):
        enqueue(tokens=1)
    assert services.queues("claims")["rescore"].state == state


def test_a_bound_on_tokens_counts_as_well() -> None:
    bound(queue_tokens=1000)
    enqueue(tokens=950)
    assert services.queues("claims")["rescore"].state == "red"


@pytest.mark.parametrize(("seconds", "state"), [(149, "green"), (151, "amber"), (301, "red")])
def test_a_queue_from_which_no_worker_takes_is_not_green_for_long(
    seconds: int, state: str, clock: Clock
) -> None:
    enqueue()
    clock.forward(seconds)
    queue = services.queues("claims")["rescore"]
    assert (queue.expected_wait_seconds, queue.state) == (None, state)
    assert queue.oldest_wait_seconds == pytest.approx(seconds, abs=1)


@pytest.mark.parametrize("field", ["paused", "draining"])
def test_a_queue_from_which_or_into_which_nothing_goes_is_red(field: str) -> None:
    WorkloadClass.objects.filter(slug="rescore").update(**{field: True})
    queues = services.queues("claims")
    assert getattr(queues["rescore"], field) is True
    assert (queues["rescore"].state, queues["nightly"].state) == ("red", "green")


@pytest.mark.parametrize("paused", [WorkloadClass, Pool])
def test_a_pause_is_no_sign_of_how_fast_jobs_go(
    paused: type[WorkloadClass] | type[Pool], clock: Clock
) -> None:
    for _ in range(4):
        enqueue(tokens=1)
    take(), take()
    before = services.queues("claims")["rescore"].expected_wait_seconds
    paused.objects.update(paused=True)
    assert services.queues("claims")["rescore"].expected_wait_seconds is None
    clock.forward(120)
    admit(tokens=1)
    paused.objects.update(paused=False)
    after = services.queues("claims")["rescore"].expected_wait_seconds
    assert before is not None
    assert after == pytest.approx(before, abs=1)


def test_a_job_that_comes_in_a_pause_waits_for_none_before_it(clock: Clock) -> None:
    WorkloadClass.objects.update(paused=True)
    enqueue()
    assert services.queues("claims")["rescore"].expected_wait_seconds is None
    assert services.queues("claims")["nightly"].expected_wait_seconds is None


def test_the_order_is_told_though_nobody_takes(clock: Clock) -> None:
    enqueue()
    clock.forward(149)
    assert services.queues("claims")["rescore"].order == "earliest_deadline"
    clock.forward(2)
    assert services.queues("claims")["rescore"].order == "newest_first"
    assert enqueue().position == 1


def test_the_first_job_after_a_quiet_time_is_not_expected_to_wait(clock: Clock) -> None:
    for _ in range(3):
        enqueue()
        finish(take_one())
        clock.forward(1900)
    queue = enqueue().queue
    assert (queue.state, queue.depth) == ("green", 1)
    assert queue.expected_wait_seconds == pytest.approx(0, abs=1)


def test_a_queue_tells_why_nothing_is_taken() -> None:
    enqueue(tokens=60_000), enqueue(tokens=60_000)
    assert len(take(2).jobs) == 1
    assert services.queues("claims")["rescore"].waits_for == "pool_exhausted"
    assert services.queues("claims")["nightly"].waits_for is None


def test_jobs_of_a_class_that_is_interactive_now_are_still_seen() -> None:
    place = enqueue()
    WorkloadClass.objects.filter(slug="rescore").update(tier="interactive")
    queue = services.queues("claims")["rescore"]
    assert (queue.depth, queue.state) == (1, "red")
    services.cancel_job(place.id)
    assert list(services.queues("claims")) == ["nightly"]


def test_a_paused_pool_is_red_for_all() -> None:
    Pool.objects.update(paused=True)
    assert {queue.state for queue in services.queues("claims").values()} == {"red"}


def test_an_unknown_pool_has_no_queues() -> None:
    with pytest.raises(UnknownPool):
        services.queues("nowhere")


def test_a_green_queue_is_not_waited_for() -> None:
    assert services.wait_until_green("claims", "rescore", timeout_seconds=0)


def test_waiting_ends_once_the_queue_is_green() -> None:
    bound(queue_limit=1)
    place = enqueue()
    cancel = threading.Timer(0.3, cancelling, [place.id])
    cancel.start()
    assert services.wait_until_green("claims", "rescore", timeout_seconds=20, poll_seconds=0.05)
    cancel.join()


def test_waiting_ends_at_its_timeout_however_seldom_it_looks() -> None:
    bound(queue_limit=1)
    enqueue()
    begun = time.monotonic()
    assert not services.wait_until_green("claims", "rescore", 0.2, poll_seconds=60)
    assert 0.2 <= time.monotonic() - begun < 10


@pytest.mark.parametrize("slug", ["adjuster", "nobody"])
def test_a_class_without_a_queue_is_not_waited_for(slug: str) -> None:
    with pytest.raises(UnknownClass):
        services.wait_until_green("claims", slug, timeout_seconds=0)


def test_many_jobs_are_cancelled_at_once_and_ended_ones_passed_over() -> None:
    ended = enqueue()
    services.cancel_job(ended.id)
    (running,) = [enqueue()]
    (job,) = take().jobs
    assert job.id == running.id
    waiting = [enqueue().id for _ in range(3)]
    assert services.cancel_jobs([*waiting, job.id], "storm") == 4
    queue = services.queues("claims")["rescore"]
    assert (queue.depth, queue.running) == (0, 0)
    assert services.job(waiting[0])["error"] == "storm"
    assert services.job(job.id)["error"].endswith("its result is dropped. storm")
