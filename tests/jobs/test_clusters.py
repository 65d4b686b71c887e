"""Two clusters as their users start them: one for near-line jobs, one for bulk."""

import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import pytest
from django.utils import timezone
from django_q.models import OrmQ

from budget import services
from budget.jobs import doorbell
from budget.jobs.tickets import _issue
from budget.models import Call, Job, Limit
from tests.jobs.clusters import running, states, wait_for, wait_until_done
from tests.jobs.queueing import enqueue
from tests.jobs.tasks import moments, pids, runs
from tests.ledger.pools import available, make_classes, make_pool

pytestmark = pytest.mark.processes

WORK = "tests.jobs.tasks.work"


@pytest.fixture(scope="module")
def _clusters(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with running(tmp_path_factory.mktemp("clusters"), "near_line", "bulk"):
        yield


@pytest.fixture(autouse=True)
def _pool(_clusters: None) -> None:
    make_classes()
    make_pool()


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "record"


def work(record: Path, count: int = 1, workload_class: str = "rescore", **args: float) -> None:
    for _ in range(count):
        enqueue(workload_class, task=WORK, args={"record": str(record), **args})


def test_jobs_run_end_to_end_each_once_in_several_workers(record: Path) -> None:
    for _ in range(30):
        enqueue(task="tests.jobs.tasks.meet", args={"record": str(record), "processes": 2})
    assert wait_until_done(30) == {"succeeded": 30}
    assert set(runs(record).values()) == {1}
    assert len(pids(record)) == 2
    assert set(Call.objects.values_list("used_input_tokens", flat=True)) == {500}
    assert services.queues("claims")["rescore"].running == 0


def test_bulk_jobs_that_take_long_dont_keep_near_line_ones_waiting(record: Path) -> None:
    bulk = {"record": str(record.with_name("bulk"))}
    for _ in range(16):
        enqueue("nightly", task="tests.jobs.tasks.outlast", args=bulk)
    wait_for(lambda: states().get("running", 0) == 16)
    work(record, 4)
    wait_for(lambda: states() == {"running": 16, "succeeded": 4})
    services.cancel_jobs(Job.objects.filter(state="running").values_list("pk", flat=True))
    assert wait_until_done() == {"cancelled": 16, "succeeded": 4}
    wait_for(lambda: not Call.objects.filter(state="open").exists())


def test_a_lost_ticket_is_replaced(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doorbell, "issue", lambda tiers: None)
    work(record)
    OrmQ.objects.all().delete()
    assert wait_until_done() == {"succeeded": 1}


def test_tickets_delivered_again_and_again_run_nothing_twice(record: Path) -> None:
    """The field: a retry clock that began at prefetch made five tasks run nine times."""
    for _ in range(9):
        _issue("near_line", ("near_line",))
    payload = OrmQ.objects.values_list("payload", flat=True)[0]
    work(record, 5, seconds=0.3)
    for _ in range(9):
        OrmQ.objects.create(key="near_line", payload=payload, lock=timezone.now())
    assert wait_until_done() == {"succeeded": 5}
    assert sorted(runs(record).values()) == [1] * 5
    wait_for(lambda: not OrmQ.objects.exists())


def test_a_cancelled_job_never_starts_and_a_running_one_is_told(record: Path) -> None:
    make_pool(slug="other")
    running = enqueue("nightly", task="tests.jobs.tasks.outlast", args={"record": str(record)})
    wait_for(lambda: record.exists())
    waiting = enqueue("nightly", tokens=60_000, task=WORK, args={"record": str(record)})
    services.cancel_job(waiting.id)
    services.cancel_job(running.id)
    wait_for(lambda: Call.objects.get(job_id=running.id).state == "settled")
    assert services.job(running.id)["result"] is None
    assert services.job(waiting.id)["state"] == "cancelled"
    assert set(runs(record)) == {str(running.id)}


def test_a_late_result_is_expired_and_its_tokens_are_accounted(record: Path) -> None:
    place = enqueue(deadline_ms=4000, task=WORK, args={"record": str(record), "seconds": 5})
    assert wait_until_done() == {"expired": 1}
    told = services.job(place.id)
    assert "after its deadline" in told["error"]
    assert told["result"] is not None
    assert Call.objects.get(job_id=place.id).used_input_tokens == 500


def test_when_quota_returns_no_wave_overshoots_it(record: Path) -> None:
    """The field: all waiters were released at once. Here 20 jobs wait for 5,000 a second."""
    Limit.objects.all().update(amount=300_000, burst_percent=2)
    for _ in range(4):
        enqueue(tokens=5000, task=WORK, args={"record": str(record), "spend": 5000})
    for _ in range(16):
        enqueue("nightly", tokens=1000, task=WORK, args={"record": str(record), "spend": 1000})
    assert wait_until_done() == {"succeeded": 20}
    assert available() >= 0
    # At most what was there in the beginning, and what came since.
    starts = sorted(Call.objects.values_list("offered_at", "input_tokens"))
    spent = accumulate(tokens for _, tokens in starts)
    for (at, _), total in zip(starts, spent, strict=True):
        assert total <= 6000 + 5000 * (at - starts[0][0]).total_seconds() + 1


def test_a_provider_that_sends_everything_away_is_not_hammered(record: Path) -> None:
    for _ in range(20):
        enqueue(task="tests.jobs.tasks.sent_away", args={"record": str(record)})
    wait_for(lambda: record.exists())
    time.sleep(3)
    asked = moments(record)
    assert len(asked) <= 16 + 3, "all threads at once, then one at a time"
    assert states() == {"queued": 20}
    assert set(Job.objects.values_list("attempts", flat=True)) == {0}
