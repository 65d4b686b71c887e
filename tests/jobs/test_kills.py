"""Clusters, and parts of them, that are killed or stopped while they work."""

import os
import re
import signal
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from django.db import connection
from django_q.models import OrmQ

from budget import conf, services
from budget.models import Call, Job, WorkloadClass
from tests.jobs.clusters import ClusterProcess, running, states, wait_for, wait_until_done
from tests.jobs.queueing import enqueue
from tests.jobs.tasks import pids, runs
from tests.ledger.pools import make_classes, make_pool

pytestmark = pytest.mark.processes

END_OTHER_SESSIONS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture(autouse=True)
def _pool() -> None:
    make_classes()
    WorkloadClass.objects.update(max_call_seconds=2, max_attempts=2)
    make_pool()


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "record"


def work(record: Path, count: int, seconds: float) -> None:
    for _ in range(count):
        enqueue(task="tests.jobs.tasks.work", args={"record": str(record), "seconds": seconds})


def workers(cluster: ClusterProcess) -> list[psutil.Process]:
    """The processes that run jobs, the pusher and monitor beside them included."""
    (sentinel,) = psutil.Process(cluster.process.pid).children()
    return sentinel.children()


def monitor(cluster: ClusterProcess) -> psutil.Process:
    """The process that takes note of tickets that ended; the newest one."""
    return psutil.Process(int(re.findall(r"monitoring at (\d+)", cluster.log.read_text())[-1]))


def test_a_job_that_kills_its_worker_is_tried_as_often_as_it_may(
    tmp_path: Path, record: Path
) -> None:
    """The field: a worker killed in a task ran it over and over in spite of one attempt."""
    WorkloadClass.objects.update(max_call_seconds=1)
    with running(tmp_path, "near_line"):
        deadly = enqueue(task="tests.jobs.tasks.die", args={"record": str(record)})
        wait_for(lambda: states() == {"failed": 1})
        assert runs(record) == {str(deadly.id): 2}
        told = services.job(deadly.id)
        assert told["error"] == "Attempt 2 never reported back before its lease was over."
        assert set(Call.objects.values_list("state", flat=True)) == {"lease_expired"}
        work(record, 1, 0)
        wait_for(lambda: states() == {"failed": 1, "succeeded": 1})


def test_what_is_killed_while_it_waits_for_a_ticket_or_its_end_takes_none_along(
    tmp_path: Path, record: Path
) -> None:
    with running(tmp_path, "near_line") as (cluster,):
        time.sleep(0.5)
        monitor(cluster).kill()
        for process in workers(cluster)[:2]:
            process.kill()
        wait_for(lambda: "reincarnated monitor" in cluster.log.read_text())
        work(record, 3, 0)
        assert wait_until_done() == {"succeeded": 3}
        wait_for(lambda: not OrmQ.objects.exists())
        monitor(cluster).kill()
        assert cluster.stop() < 10


def test_two_clusters_share_the_work_and_what_one_ran_as_it_was_killed_comes_back(
    tmp_path: Path, record: Path
) -> None:
    with running(tmp_path, "near_line", "near_line", BUDGET_JOB_THREADS=2) as (first, second):
        work(record, 20, 0.5)
        wait_for(lambda: len(pids(record)) == 4)
        assert set(runs(record).values()) == {1}
        first.kill()
        assert wait_until_done() == {"succeeded": 20}
        counts = Counter(runs(record).values())
        assert set(counts) == {1, 2}
        assert counts[2] <= 4, "no more than it had threads"
        assert second.process.poll() is None


def test_a_cluster_told_to_stop_starts_nothing_more_and_loses_nothing(
    tmp_path: Path, record: Path
) -> None:
    with running(tmp_path, "near_line", BUDGET_TICKET_SECONDS=5) as (cluster,):
        work(record, 100, 0.5)
        wait_for(lambda: len(pids(record)) == 2)
        os.kill(cluster.process.pid, signal.SIGTERM)
        assert cluster.stop() < 5
        left = states()
        assert left["queued"] > 40
        assert set(left) == {"queued", "succeeded"}
        assert set(runs(record).values()) == {1}
        assert services.queues("claims")["rescore"].running == 0


def test_a_cluster_whose_sentinel_is_killed_starts_again_and_leaves_none_at_work(
    tmp_path: Path, record: Path
) -> None:
    with running(tmp_path, "near_line") as (cluster,):
        orphans = workers(cluster)
        psutil.Process(cluster.process.pid).children()[0].kill()
        assert psutil.wait_procs(orphans, timeout=5)[1] == []
        work(record, 3, 0)
        assert wait_until_done() == {"succeeded": 3}
        assert "(exit code -9). It starts again in 2 s" in cluster.log.read_text()
        orphans = psutil.Process(cluster.process.pid).children(recursive=True)
        assert len(orphans) == 5
        cluster.process.kill()
        assert psutil.wait_procs(orphans, timeout=5)[1] == []


def test_a_cluster_that_no_longer_moves_is_killed_and_starts_again(
    tmp_path: Path, record: Path
) -> None:
    """A worker killed as its ticket ends holds the lock that the sentinel waits for."""
    deadly = tmp_path / "deadly"
    with running(tmp_path, "near_line", DEADLY_END=str(deadly), CLUSTER_PATIENCE=6) as (cluster,):
        frozen = workers(cluster)
        deadly.touch()
        work(record, 1, 0)
        wait_for(lambda: not deadly.exists())
        wait_for(lambda: "no longer moves" in cluster.log.read_text(), 30)
        assert psutil.wait_procs(frozen, timeout=5)[1] == []
        work(record, 2, 0)
        assert wait_until_done() == {"succeeded": 3}
        assert cluster.stop() < 5


def test_connections_that_are_lost_over_and_over_cost_no_job(tmp_path: Path, record: Path) -> None:
    with running(tmp_path, "near_line") as (cluster,):
        work(record, 60, 0.4)
        for _ in range(3):
            time.sleep(0.4)
            with connection.cursor() as cursor:
                cursor.execute(END_OTHER_SESSIONS)
        assert wait_until_done(30) == {"succeeded": 60}
        assert set(runs(record).values()) == {1}
        assert set(Job.objects.values_list("attempts", flat=True)) == {1}
        assert cluster.stop() < 5


def test_a_ticket_that_hangs_is_killed_and_leaves_neither_itself_nor_its_job_behind(
    tmp_path: Path, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conf, "ticket_timeout", lambda: 2)
    with running(tmp_path, "near_line", BUDGET_TICKET_SECONDS=60) as (cluster,):
        place = enqueue(task="tests.jobs.tasks.hang_once", args={"record": str(record)})
        wait_for(lambda: "after timeout" in cluster.log.read_text(), 30)
        assert wait_until_done(30) == {"succeeded": 1}
        assert runs(record) == {str(place.id): 2}
        assert len(pids(record)) == 2
        wait_for(lambda: not OrmQ.objects.exists())
        assert services.queues("claims")["rescore"].running == 0
        assert not Call.objects.filter(state="open").exists()
