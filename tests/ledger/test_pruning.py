"""Old calls are forgotten; balances are not, nor what it takes to re-run what is kept."""

import time
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F
from django.utils import timezone

from budget.ledger import pruning
from budget.ledger.clock import micros
from budget.ledger.ids import made_at, new_id, pool_of
from budget.models import (
    AwayReport,
    Call,
    CallerProcess,
    Job,
    JobBatch,
    Observation,
    Pool,
    PoolState,
)
from tests.jobs.queueing import enqueue, finish, take_one
from tests.ledger.pools import admit, available, make_pool, settle

pytestmark = pytest.mark.usefixtures("classes")

SLOTS = {"unit": "requests", "algorithm": "gauge", "amount": 50}


def age(days: int) -> None:
    """Let everything have happened so many days earlier."""
    span = timedelta(days=days)
    for call in Call.objects.all():
        earlier = made_at(call.pk) - span // timedelta(microseconds=1)
        Call.objects.filter(pk=call.pk).update(
            id=new_id(pool_of(call.pk), earlier),
            offered_at=F("offered_at") - span,
            settled_at=F("settled_at") - span,
        )
    PoolState.objects.update(at=F("at") - span)


def test_old_settled_calls_go_and_open_ones_and_the_balance_stay() -> None:
    make_pool(SLOTS)
    settle(admit().id, 1)
    admit()
    age(days=10)
    call_command("prune_calls", days=11)
    assert Call.objects.count() == 2
    call_command("prune_calls", days=9)
    assert [call.state for call in Call.objects.all()] == ["open"]
    assert PoolState.objects.count() == 1
    assert available() == 49


def test_what_providers_said_goes_with_the_calls_of_its_time() -> None:
    pool = make_pool(SLOTS)
    for days in (10, 8):
        at = timezone.now() - timedelta(days=days)
        Observation.objects.create(
            id=new_id(pool.pk, micros(at)),
            pool_id=pool.pk,
            at=at,
            said_at=at,
            seq=1,
            position=1,
            readings=[],
            tolerance=0.1,
            leaked={"requests": days},
            backoff={},
        )
    call_command("prune_calls", days=9)
    assert [row.leaked for row in Observation.objects.all()] == [{"requests": 8}]


def test_one_pool_may_be_pruned_alone() -> None:
    for slug in ("claims", "other"):
        make_pool(SLOTS, slug=slug)
        for _ in range(2):
            settle(admit(pool=slug).id, 1)
    age(days=10)
    one = Pool.objects.get(slug="claims").pk
    before = timezone.now() - timedelta(days=9)
    assert pruning.prune(before, one)[:3] == (2, 0, 0)
    assert set(Call.objects.values_list("pool_id", flat=True)) == {
        Pool.objects.get(slug="other").pk
    }
    assert PoolState.objects.filter(pool_id=one).count() == 1


def test_all_that_is_old_goes_chunk_by_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "CHUNK", 3)
    for slug in ("claims", "other"):
        make_pool(SLOTS, slug=slug)
        for n in range(8):
            call = admit(pool=slug)
            if n % 3:
                settle(call.id, 1)
    age(days=10)
    states = PoolState.objects.count()
    assert pruning.prune(timezone.now() - timedelta(days=9)) == (10, 0, 0, states - 2)
    assert set(Call.objects.values_list("state", flat=True)) == {"open"}
    assert PoolState.objects.count() == 2


def test_an_old_call_that_ended_lately_stays_with_the_states_around_it() -> None:
    make_pool(SLOTS)
    call = admit()
    age(days=10)
    time.sleep(0.01)
    settle(Call.objects.get().pk, 1)
    states = PoolState.objects.count()
    assert pruning.prune(timezone.now() - timedelta(days=9)) == (0, 0, 0, states - 1)
    assert call.admitted


def test_a_call_without_a_lease_does_not_stay_for_ever() -> None:
    make_pool(SLOTS)
    admit()
    Call.objects.update(lease_expires=None)
    age(days=10)
    call_command("prune_calls", days=9)
    assert not Call.objects.exists()


def test_an_open_call_of_a_pool_that_is_gone_does_not_stay_for_ever() -> None:
    pool = make_pool(SLOTS)
    admit()
    age(days=10)
    call_command("prune_calls", days=9)
    assert Call.objects.exists()
    pool.delete()
    call_command("prune_calls", days=9)
    assert not Call.objects.exists()


@pytest.mark.parametrize("days", [1, 0, -1])
def test_idempotency_keys_are_not_cut_short(days: int) -> None:
    with pytest.raises(CommandError, match="at least 2 days"):
        call_command("prune_calls", days=days)


def test_jobs_go_with_their_calls_and_those_that_wait_stay() -> None:
    pool = make_pool(SLOTS)
    finish(*(enqueue(), take_one())[1:])
    waiting = enqueue()
    earlier = timedelta(days=10)
    for job in Job.objects.all():
        moved = new_id(pool_of(job.pk), made_at(job.pk) - earlier // timedelta(microseconds=1))
        Job.objects.filter(pk=job.pk).update(
            id=moved,
            enqueued_at=F("enqueued_at") - earlier,
            finished_at=F("finished_at") - earlier,
        )
    before = timezone.now() - timedelta(days=9)
    assert pruning.prune(before - timedelta(days=2)).jobs == 0
    assert pruning.prune(before).jobs == 1
    assert [job.state for job in Job.objects.all()] == ["queued"]
    assert waiting.state == "queued"
    pool.delete()
    assert pruning.prune(before).jobs == 1


def test_batches_go_once_they_have_ended_or_their_pool_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "CHUNK", 2)
    pool = make_pool(SLOTS)
    now = timezone.now()
    long_ago = now - timedelta(days=10)
    for state, finished_at in [("done", long_ago)] * 3 + [("failed", now), ("running", None)]:
        JobBatch.objects.create(
            id=new_id(pool.pk, micros(long_ago)),
            pool_id=pool.pk,
            state=state,
            created_at=long_ago,
            finished_at=finished_at,
            next_look_at=now,
        )
    before = now - timedelta(days=9)
    assert pruning.prune(before).batches == 3
    assert pruning.prune(before).batches == 0
    pool.delete()
    assert pruning.prune(before).batches == 1
    assert JobBatch.objects.get().state == "failed"


def test_reports_of_callers_go_with_the_calls_of_their_time() -> None:
    pool = make_pool(SLOTS)
    now = timezone.now()
    for days in (8, 10):
        AwayReport.objects.create(
            report=uuid4(),
            pool_id=pool.pk,
            workload_class="adjuster",
            choice="local",
            **dict.fromkeys(("admitted", "shed", "input_tokens", "output_tokens"), 1),
            **dict.fromkeys(("first_at", "last_at", "received_at"), now - timedelta(days=days)),
        )
    call_command("prune_calls", days=9)
    assert AwayReport.objects.get().received_at == now - timedelta(days=8)


def test_processes_that_nobody_has_heard_of_for_a_day_are_forgotten() -> None:
    pool = make_pool(SLOTS)
    for hours in (23, 25):
        CallerProcess.objects.create(
            pool_id=pool.pk, process=uuid4(), seen_at=timezone.now() - timedelta(hours=hours)
        )
    call_command("prune_calls", days=9)
    assert CallerProcess.objects.count() == 1
