"""What the ledger survives: nothing is charged twice, nothing is forgotten, it goes on."""

import logging
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection, connections

from budget import services
from budget.ledger.errors import Implausible, LedgerUnavailable
from budget.ledger.ids import new_id
from budget.ledger.operations import Admit
from budget.ledger.store import READ
from budget.ledger.writers import answer_of, stop_writers, submit
from budget.models import Call, Limit, PolicyRevision, Pool, PoolLock
from tests.ledger.child import Child
from tests.ledger.pools import admit, available, make_pool, request, settle, together
from tests.ledger.proxy import Proxy

pytestmark = pytest.mark.usefixtures("classes", "_quiet")

WINDOW = {"unit": "total_tokens", "algorithm": "sliding_window", "amount": 100_000}
LEDGER_SESSIONS = """
SELECT pid FROM pg_stat_activity
WHERE application_name = 'budget-ledger' AND datname = current_database()
"""


@pytest.fixture
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="budget.ledger")


@pytest.fixture
def pool() -> Pool:
    return make_pool(WINDOW)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """The ledger's connections go through it."""
    params = connection.get_connection_params()
    host, port = params.get("host") or "localhost", int(params.get("port") or 5432)
    with tempfile.TemporaryDirectory() as directory, Proxy(Path(directory), host, port) as proxy:
        monkeypatch.setattr(
            type(connections["default"]),
            "get_connection_params",
            lambda _: {**params, "host": directory, "port": 5432},
        )
        yield proxy


def bystander() -> psycopg.Connection:
    """A session that has nothing to do with the ledger."""
    params = connections["default"].get_connection_params()
    return psycopg.connect(**params, autocommit=True)


@contextmanager
def lock_held(pool: Pool) -> Iterator[psycopg.Connection]:
    """Somebody else holds the pool's lock."""
    with bystander() as other:
        other.execute("BEGIN")
        other.execute("SELECT FROM budget_poollock WHERE pool_id = %s FOR UPDATE", (pool.pk,))
        yield other
        other.execute("ROLLBACK")


def terminate_ledger_connections(other: psycopg.Connection) -> int:
    """End every session of the ledger, as an operator or a failing network would."""
    query = f"SELECT pg_terminate_backend(pid) FROM ({LEDGER_SESSIONS}) AS sessions"
    return other.execute(query).rowcount


def eventually(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether it comes true in time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def test_a_killed_connection(pool: Pool) -> None:
    admit()
    with bystander() as other:
        for _ in range(3):
            assert terminate_ledger_connections(other)
            assert admit().admitted
    assert Call.objects.count() == 4
    assert available() == 96_000


def test_a_connection_killed_while_it_waits_for_the_lock(pool: Pool) -> None:
    admit()
    with lock_held(pool) as other:
        caller = threading.Thread(target=admit)
        caller.start()
        waiting = f"SELECT FROM pg_locks WHERE NOT granted AND pid IN ({LEDGER_SESSIONS})"
        assert eventually(lambda: other.execute(waiting).rowcount > 0)
        assert terminate_ledger_connections(other)
    caller.join()
    assert available() == 98_000


def test_a_lost_reply_to_the_commit_of_admissions(proxy: Proxy, pool: Pool) -> None:
    admit()
    for _ in range(3):
        proxy.lose_replies = 1
        assert admit().admitted
        assert not proxy.lose_replies
    assert Call.objects.count() == 4
    assert available() == 96_000


def test_a_lost_reply_to_a_batch_of_all_kinds(proxy: Proxy, pool: Pool) -> None:
    settled, renewed = admit(), admit(tokens=2000)
    with lock_held(pool):
        answers: list[object] = []
        asks: list[Callable[[], object]] = [
            lambda: services.settle(settled.id, "succeeded", 400),
            lambda: services.renew(renewed.id, 60_000),
            lambda: admit(tokens=3000),
            lambda: admit(tokens=90_000, idempotency_key="fits"),
            lambda: admit(tokens=95_000, idempotency_key="does not fit"),
        ]
        callers = []
        for ask in asks:
            callers.append(threading.Thread(target=lambda ask=ask: answers.append(ask())))
            callers[-1].start()
            time.sleep(0.02)
        time.sleep(0.1)
        proxy.lose_replies = 2
    for caller in callers:
        caller.join()
    assert len(answers) == 5
    assert not proxy.lose_replies
    assert available() == 100_000 - 400 - 2000 - 3000 - 90_000
    stored = Call.objects.get(pk=renewed.id)
    assert (stored.lease_expires - renewed.lease_expires).total_seconds() == 60
    assert Call.objects.filter(state="shed").count() == 1


def test_a_deadlock(pool: Pool) -> None:
    admit()
    with bystander() as other, bystander() as third:
        other.execute("SET deadlock_timeout = '10s'")
        other.execute("BEGIN")
        other.execute("LOCK TABLE budget_call IN SHARE MODE")
        caller = threading.Thread(target=admit)
        caller.start()
        free = "SELECT FROM budget_poollock FOR UPDATE SKIP LOCKED"
        assert eventually(lambda: third.execute(free).rowcount == 0)
        other.execute("SELECT FROM budget_poollock FOR UPDATE")
        other.execute("ROLLBACK")
    caller.join()
    assert available() == 98_000


def test_a_poisoned_operation_is_refused_alone(pool: Pool) -> None:
    good = [Admit(id=new_id(pool.pk), request=request()) for _ in range(7)]
    bad = Admit(id=new_id(pool.pk), request=request(source="a\0b"))
    with lock_held(pool):
        submissions = [submit(pool.pk, one) for one in (*good[:3], bad, *good[3:])]
    poisoned = submissions.pop(3)
    assert all(answer_of(submission).admitted for submission in submissions)
    with pytest.raises(Implausible):
        answer_of(poisoned)
    assert available() == 93_000


def test_a_caller_that_gave_up_is_not_charged(pool: Pool, settings: Any) -> None:
    settings.BUDGET_LEDGER_WAIT_SECONDS = 0.2
    with lock_held(pool):
        with pytest.raises(LedgerUnavailable):
            admit(idempotency_key="again", tokens=5000)
        with pytest.raises(LedgerUnavailable):
            admit(tokens=7000)
    settings.BUDGET_LEDGER_WAIT_SECONDS = 5
    assert admit(tokens=1000, idempotency_key="again").admitted
    assert eventually(lambda: available() == 99_000)
    states = Call.objects.values_list("input_tokens", "state", "outcome")
    assert (1000, "open", "") in states
    assert set(states) <= {(1000, "open", ""), (5000, "settled", "cancelled")}


def test_too_many_waiting_callers_are_turned_away(pool: Pool, settings: Any) -> None:
    settings.BUDGET_LEDGER_QUEUE_SIZE = 0
    with pytest.raises(LedgerUnavailable):
        admit()


@pytest.mark.processes
def test_a_stopped_process_that_holds_the_lock(pool: Pool) -> None:
    child = Child(connection.settings_dict["NAME"], "hold_lock", pool.pk)
    try:
        assert child.hear() == "ready"
        os.kill(child.process.pid, signal.SIGSTOP)
        assert admit().admitted
        os.kill(child.process.pid, signal.SIGCONT)
    finally:
        child.end()


@pytest.mark.processes
def test_a_fork_after_the_start(pool: Pool) -> None:
    child = Child(connection.settings_dict["NAME"], "fork")
    try:
        assert child.hear() == "ready"
        child.go()
        assert child.hear() == [True, True, True]
    finally:
        child.end()
    assert available() == 97_000


@pytest.mark.processes
def test_a_restart_of_the_server() -> None:
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory).resolve() / "data"
        child = Child("", "restart_server", BUDGET_DATA_DIR=str(data), DATABASE_URL="")
        try:
            result = child.hear()
            child.process.wait()
        finally:
            child.end()
    assert result["answered"] > 100
    assert (result["lost"], result["charged twice"]) == (0, False)


def test_an_old_snapshot_elsewhere_does_not_make_reading_dearer(pool: Pool) -> None:
    with bystander() as other:
        other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT count(*) FROM budget_poolstate").fetchone()
        for _ in range(20):
            admit(tokens=1)
        before = blocks_read(pool)
        for _ in range(300):
            admit(tokens=1)
        assert blocks_read(pool) <= before + 5


def blocks_read(pool: Pool) -> int:
    """How many blocks the ledger's read touches."""
    with bystander() as other:
        other.execute("SET enable_seqscan = off")
        query = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {READ}"
        plan = other.execute(query, {"pool": pool.pk, "seq": None, "at": None}).fetchone()[0]
    top = plan[0]["Plan"]
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])


def test_an_uncommitted_policy_edit_neither_blocks_nor_counts(pool: Pool) -> None:
    admit(tokens=50_000)
    with bystander() as editor:
        editor.execute("BEGIN")
        editor.execute("UPDATE budget_limit SET amount = 60000")
        assert admit(tokens=20_000).admitted
        editor.execute("COMMIT")
    refusal = admit(tokens=10_000)
    assert (refusal.admitted, refusal.reason) == (False, "pool_exhausted")


def test_an_edit_by_raw_sql_holds_for_the_next_decision(pool: Pool) -> None:
    before = admit()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE budget_workloadclass SET paused = true WHERE slug = 'adjuster'")
    after = admit()
    assert (after.admitted, after.reason) == (False, "paused")
    assert after.policy_version > before.policy_version
    assert PolicyRevision.objects.filter(pool_id=pool.pk).count() == 2


def test_a_truncated_policy_leaves_no_balance_behind(pool: Pool) -> None:
    admit(tokens=60_000)
    Limit.objects.all().delete()
    assert admit(tokens=60_000).admitted, "a pool without limits admits everything"
    Limit.objects.create(pool=pool, **WINDOW)
    assert admit(tokens=60_000).admitted


def test_a_lost_lock_row_comes_back(pool: Pool) -> None:
    admit()
    PoolLock.objects.all().delete()
    assert admit().admitted
    assert PoolLock.objects.count() == 1
    assert available() == 98_000


def test_many_callers_at_once_are_all_answered(pool: Pool) -> None:
    decided = together(32, lambda: [admit(tokens=100).admitted for _ in range(40)])
    flat = [admitted for one in decided for admitted in one]
    assert (len(flat), sum(flat)) == (1280, 1000)
    assert available() == 0


def test_a_settlement_finds_its_call_after_a_restart_of_the_writer(pool: Pool) -> None:
    call = admit(tokens=4000)
    stop_writers()
    settle(call.id, 1000)
    assert available() == 99_000
