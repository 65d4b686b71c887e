"""At the door of a queue: who gets a place, who is refused and what it is told."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from budget import services
from budget.ledger.batch import IDEMPOTENCY_SPAN
from budget.ledger.clock import micros
from budget.ledger.errors import (
    Forbidden,
    Implausible,
    KeyReused,
    LedgerUnavailable,
    Shed,
    UnknownClass,
)
from budget.ledger.ids import made_at, new_id, pool_of
from budget.ledger.job_operations import CancelJob, Enqueue, JobRequest
from budget.ledger.operations import Admission, Caller
from budget.ledger.writers import answer_of, patience, submit
from budget.models import Call, Job, Limit, Pool, WorkloadClass
from tests.jobs.accounts import check_accounts
from tests.jobs.clock import Clock, clock
from tests.jobs.queueing import BATCHED, ECHO, enqueue, finish, take, take_one
from tests.ledger.child import Child
from tests.ledger.conftest import quiet
from tests.ledger.disturbances import eventually, lock_held
from tests.ledger.pools import make_classes, make_pool, together

__all__ = ["clock", "quiet"]


@pytest.fixture(autouse=True)
def pool() -> Pool:
    """The claims pool."""
    make_classes()
    return make_pool()


def change(slug: str = "rescore", **fields: Any) -> None:
    """Edit a class."""
    WorkloadClass.objects.filter(slug=slug).update(**fields)


def refused(workload_class: str = "rescore", tokens: int = 1000, **fields: Any) -> Admission:
    """What a job is refused with."""
    with pytest.raises(Shed) as shed:
        enqueue(workload_class, tokens, **fields)
    return shed.value.admission


def test_a_queue_full_of_jobs_refuses_with_its_depth_and_a_time(pool: Pool) -> None:
    change(queue_limit=2)
    enqueue(), enqueue()
    admission = refused(source="cron", tags={"run": "7"})
    assert (admission.reason, admission.depth, admission.retryable) == ("queue_full", 2, True)
    assert 5000 <= (admission.retry_after_ms or 0) <= 10_000
    assert "2 jobs with 2,000 tokens wait, and 2 jobs may." in admission.detail
    call = Call.objects.get(pk=admission.id)
    assert (call.state, call.reason, call.job_id) == ("shed", "queue_full", admission.id)
    assert (call.source, call.tags) == ("cron", {"run": "7"})
    (jobs,) = call.standings
    assert (jobs.limit, jobs.cost, jobs.available, jobs.free) == ("jobs/queue", 1, 2, 0)
    assert services.explain(call.pk)["reason"] == "queue_full"
    take_one()
    enqueue()
    check_accounts(pool)


def test_a_queue_full_of_tokens_refuses_what_it_has_no_room_for(pool: Pool) -> None:
    change(queue_tokens=2500)
    enqueue(tokens=1000), enqueue(tokens=1000)
    admission = refused(tokens=501)
    assert admission.reason == "queue_full"
    tokens = Call.objects.get(pk=admission.id).standings[-1]
    assert (tokens.limit, tokens.cost, tokens.protected) == ("tokens/queue", 501, {"rescore": 2000})
    enqueue(tokens=500)
    enqueue(tokens=0)
    check_accounts(pool)


@pytest.mark.parametrize("paused", [Pool, WorkloadClass])
def test_a_full_queue_that_is_paused_is_asked_again_as_what_is_paused(paused: Any) -> None:
    change(queue_limit=1)
    for _ in range(5):
        enqueue()
        take_one()
    enqueue()
    assert 1000 <= (refused().retry_after_ms or 0) <= 2000
    paused.objects.update(paused=True)
    admission = refused()
    assert admission.reason == "queue_full"
    assert 30_000 <= (admission.retry_after_ms or 0) <= 60_000


def test_jobs_without_tokens_are_bounded_by_number_alone() -> None:
    change(queue_tokens=10)
    for _ in range(3):
        enqueue(tokens=0)
    enqueue(tokens=10)
    assert refused(tokens=1).reason == "queue_full"


def test_a_job_larger_than_the_whole_queue_never_fits() -> None:
    change(queue_tokens=500)
    enqueue(tokens=400)
    admission = refused(tokens=501)
    assert (admission.reason, admission.retry_after_ms) == ("never_fits", None)
    assert admission.detail == (
        "The job's 501 tokens are more than the whole queue of rescore takes: 500."
    )


def test_a_job_larger_than_the_pool_never_fits() -> None:
    admission = refused(tokens=60_001)
    assert (admission.reason, admission.limit) == ("never_fits", "total_tokens/token_bucket")
    assert not admission.retryable


def test_what_fits_neither_the_pool_nor_its_batch_endpoint_is_told_the_pools_limit() -> None:
    Pool.objects.update(batch=True, batch_window_hours=1)
    Limit.objects.create(
        pool=Pool.objects.get(),
        of_batch=True,
        unit="input_tokens",
        algorithm="gauge",
        amount=90_000,
    )
    batched = {"task": BATCHED, "args": {"model": "small"}}
    enqueue("nightly", 80_000, **batched)
    assert refused("nightly", 95_000, **batched).limit == "total_tokens/token_bucket"
    assert refused("nightly", 80_000, deadline_ms=60_000, **batched).reason == "never_fits"


def test_in_observe_mode_only_bounds_and_switches_refuse() -> None:
    Pool.objects.update(mode="observe")
    change(queue_limit=1)
    enqueue(tokens=70_000)
    assert refused().reason == "queue_full"
    assert take_one()
    assert Call.objects.get(state="open").reason == "never_fits"


def test_a_draining_class_takes_no_new_jobs_and_works_off_those_it_has() -> None:
    enqueue()
    change(draining=True)
    admission = refused()
    assert (admission.reason, admission.retryable) == ("paused", True)
    assert "draining" in admission.detail
    assert take_one()


def test_a_paused_class_takes_new_jobs_and_runs_none() -> None:
    change(paused=True)
    place = enqueue()
    assert place.queue.state == "red"
    taken = take()
    assert (taken.jobs, taken.due) == ([], place.deadline)
    change(paused=False)
    assert take_one()


def test_a_deadline_that_leaves_no_time_to_serve_is_refused() -> None:
    change(deadline_seconds=60)
    enqueue()
    job = take_one()
    Job.objects.filter(pk=job.id).update(started_at=timezone.now() - timedelta(seconds=20))
    finish(job)
    admission = refused(deadline_ms=10_000)
    assert (admission.reason, admission.retryable) == ("deadline_unmeetable", False)
    assert "20.0 s, longer than the deadline leaves" in admission.detail
    assert enqueue(deadline_ms=30_000)


def test_producers_refused_together_do_not_come_back_together() -> None:
    change(queue_limit=1)
    enqueue()
    assert len({refused().retry_after_ms for _ in range(20)}) > 10


def test_the_time_to_come_back_follows_from_the_rate_of_taking() -> None:
    change(queue_limit=20)
    for _ in range(20):
        enqueue(tokens=1)
    take(10)
    for _ in range(10):
        enqueue(tokens=1)
    assert 1000 <= (refused().retry_after_ms or 0) <= 2000


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"workload_class": "adjuster"}, "workload_class"),
        ({"deadline_ms": 300_001}, "deadline_ms"),
        ({"deadline_ms": 0}, "deadline_ms"),
        ({"tokens": -1}, "input_tokens"),
        ({"task": "tests.unknown"}, "task"),
        ({"args": {"x": object()}}, "args"),
        ({"args": {"x": "y" * 300_000}}, "args"),
    ],
)
def test_bad_input_names_its_field(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(Implausible) as implausible:
        enqueue(**fields)
    assert implausible.value.field == field
    assert not Job.objects.exists()


def test_a_key_has_its_classes_and_pools() -> None:
    with pytest.raises(UnknownClass):
        enqueue("nobody")
    with pytest.raises(Forbidden):
        enqueue(caller=Caller("k", classes=frozenset({"nightly"})))
    with pytest.raises(Forbidden):
        enqueue(caller=Caller("k", pools=frozenset({"other"})))


def test_the_same_key_finds_the_same_job_whatever_became_of_it(pool: Pool) -> None:
    first = enqueue(idempotency_key="a")
    again = enqueue(idempotency_key="a")
    assert (again.id, again.replayed, again.position) == (first.id, True, 1)
    finish(take_one())
    over = enqueue(idempotency_key="a")
    assert (over.id, over.state, over.position) == (first.id, "succeeded", 0)
    with pytest.raises(KeyReused):
        enqueue(idempotency_key="a", tokens=1)
    other = enqueue(idempotency_key="a", caller=Caller("other"))
    assert other.id != first.id
    check_accounts(pool)


def test_a_place_is_told_as_the_latest_that_it_may_be(clock: Clock) -> None:
    first = enqueue(idempotency_key="a")
    sooner = enqueue(deadline_ms=250_000)
    assert (first.position, sooner.position) == (1, 2)
    assert enqueue(idempotency_key="a").position == 2

    clock.forward(160)
    take(0)
    newest = enqueue(idempotency_key="b")
    assert (newest.queue.order, newest.position) == ("newest_first", 1)
    enqueue()
    assert enqueue(idempotency_key="b").position == 4


def test_the_log_names_what_cannot_be_decided_and_tells_nothing_of_it(
    pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    unstorable = JobRequest(
        pool="claims",
        workload_class="rescore",
        task=ECHO,
        args='{"patient":"Ada\0"}',
        input_tokens=1,
        output_tokens=0,
    )
    operation = Enqueue(id=new_id(pool.pk), request=unstorable)
    with pytest.raises(Implausible):
        answer_of(submit(pool.pk, operation), patience())
    (record,) = [r for r in caplog.records if r.name == "budget.ledger.writer"]
    assert f"cannot decide the Enqueue {operation.id}: unsupported Unicode" in record.getMessage()
    assert "Ada" not in caplog.text


def test_a_key_of_yesterday_is_free(pool: Pool) -> None:
    first = enqueue(idempotency_key="a")
    earlier = new_id(pool_of(first.id), made_at(first.id) - IDEMPOTENCY_SPAN)
    Job.objects.filter(pk=first.id).update(id=earlier)
    second = enqueue(idempotency_key="a")
    assert (second.replayed, Job.objects.get(idempotency_key="a").pk) == (False, second.id)
    assert enqueue(idempotency_key="a").id == second.id
    check_accounts(pool)


def test_a_refused_job_leaves_its_key_free() -> None:
    change(queue_limit=1)
    enqueue()
    refused(idempotency_key="a")
    take_one()
    assert not enqueue(idempotency_key="a").replayed


def test_many_at_once_under_one_key_are_one_job() -> None:
    places = together(16, lambda: enqueue(idempotency_key="a"))
    assert len({place.id for place in places}) == 1
    assert Job.objects.count() == 1


def test_a_producer_that_gave_up_leaves_neither_job_nor_key(
    pool: Pool, settings: Any, quiet: None
) -> None:
    settings.BUDGET_LEDGER_WAIT_SECONDS = 0.2
    with lock_held(pool):
        with pytest.raises(LedgerUnavailable):
            enqueue(idempotency_key="a")
        with pytest.raises(LedgerUnavailable):
            enqueue()
    settings.BUDGET_LEDGER_WAIT_SECONDS = 5
    assert eventually(lambda: not Job.objects.filter(state="queued").exists())
    assert not enqueue(idempotency_key="a").replayed
    assert [job.id for job in take(5).jobs] == [Job.objects.get(idempotency_key="a").pk]
    check_accounts(pool)


def test_a_job_that_another_producer_heard_of_outlives_the_one_that_gave_up(pool: Pool) -> None:
    first = enqueue(idempotency_key="a")
    assert enqueue(idempotency_key="a").replayed
    undoing = CancelJob(id=first.id, forget_key=True)
    with pytest.raises(services.JobEnded):
        answer_of(submit(pool.pk, undoing), patience())
    assert enqueue(idempotency_key="a").state == "queued"


def test_a_place_taken_back_and_asked_for_again_in_one_batch(pool: Pool) -> None:
    first = enqueue(idempotency_key="a")
    with lock_held(pool):
        undone = submit(pool.pk, CancelJob(id=first.id, forget_key=True))
        places: list[Any] = []
        producer = threading.Thread(target=lambda: places.append(enqueue(idempotency_key="a")))
        producer.start()
    producer.join()
    answer_of(undone, patience())
    assert (places[0].state, places[0].replayed) == ("queued", False)
    assert places[0].id != first.id
    check_accounts(pool)


@pytest.mark.processes
def test_a_bound_holds_with_producers_in_several_processes(pool: Pool) -> None:
    change(queue_limit=37, queue_tokens=100_000)
    database = connection.settings_dict["NAME"]
    children = [Child(str(database), "enqueue_many", 40, 1000) for _ in range(3)]
    try:
        for child in children:
            child.hear()
        for child in children:
            child.go()
        placed = sum(child.hear() for child in children)
    finally:
        for child in children:
            child.end()
    assert placed == Job.objects.filter(state="queued").count() == 37
    assert Call.objects.filter(state="shed", reason="queue_full").count() == 3 * 40 - 37
    change(queue_limit=None, queue_tokens=50_000)
    results = together(8, lambda: [_placed(1000) for _ in range(5)])
    assert sum(sum(result) for result in results) == 50 - 37
    check_accounts(pool)


def _placed(tokens: int) -> bool:
    try:
        enqueue(tokens=tokens)
    except Shed:
        return False
    return True


def test_stale_jobs_make_room_for_live_ones(pool: Pool) -> None:
    change(queue_limit=3)
    for _ in range(3):
        enqueue()
    assert refused().reason == "queue_full"
    Job.objects.update(deadline=timezone.now())
    assert enqueue().queue.depth == 1
    assert Job.objects.filter(state="expired").count() == 3
    check_accounts(pool)


def test_a_deadline_counts_from_the_enqueueing() -> None:
    before = micros(timezone.now())
    place = enqueue(deadline_ms=60_000)
    assert 59_000_000 < micros(place.deadline) - before < 63_000_000
