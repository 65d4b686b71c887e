"""What the ledger survives.

Invariant 5: every submission ends in exactly one outcome. Invariant 11: a lost commit reply, a
killed writer or a repeated operation never charges twice or forgets.
"""

import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections

from budget import services
from budget.ledger import queries, writer
from budget.ledger.balances import decode_balances
from budget.ledger.errors import Implausible, LedgerUnavailable, UnknownPool
from budget.ledger.store import MOST_LAPSES
from budget.ledger.writers import answer_of, patience, stop_writers, submit
from budget.models import (
    Call,
    Limit,
    PolicyRevision,
    Pool,
    PoolLock,
    PoolState,
    UsageMinute,
    WorkloadClass,
)
from tests.jobs.clock import Clock, clock
from tests.ledger.child import Child
from tests.ledger.disturbances import (
    LEDGER_SESSIONS,
    bystander,
    eventually,
    lock_held,
    terminate_ledger_connections,
)
from tests.ledger.pools import (
    WIDE_WINDOW,
    admit,
    available,
    request,
    settle,
    submission,
    together,
)
from tests.ledger.proxy import Proxy

__all__ = ["clock"]

pytestmark = pytest.mark.usefixtures("classes", "quiet")


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """The ledger's connections go through it."""
    params = connection.get_connection_params()
    host, port = params.get("host") or "localhost", int(params.get("port") or 5432)
    with (
        tempfile.TemporaryDirectory() as directory,
        Proxy(Path(directory), host, port) as proxy,
        monkeypatch.context() as patch,
    ):
        patch.setattr(
            type(connections["default"]),
            "get_connection_params",
            lambda _: {**params, "host": directory, "port": 5432},
        )
        yield proxy
        # It may go through the proxy, too.
        connection.close()


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
    good = [submission(pool.pk, request()).operation for _ in range(7)]
    bad = submission(pool.pk, request(source="a\0b")).operation
    with lock_held(pool):
        submissions = [submit(pool.pk, one) for one in (*good[:3], bad, *good[3:])]
    poisoned = submissions.pop(3)
    assert all(answer_of(one, patience()).admitted for one in submissions)
    with pytest.raises(Implausible):
        answer_of(poisoned, patience())
    assert available() == 93_000


@pytest.mark.processes
def test_a_stopped_process_that_holds_the_lock(pool: Pool) -> None:
    child = Child(connection.settings_dict["NAME"], "admit_slowly")
    try:
        assert child.hear() == "ready"
        os.kill(child.process.pid, signal.SIGSTOP)
        assert admit().admitted
        assert (Call.objects.count(), available()) == (1, 99_000)
        os.kill(child.process.pid, signal.SIGCONT)
        child.go()
        assert child.hear() is True
    finally:
        child.end()
    assert (Call.objects.filter(state="open").count(), available()) == (2, 98_000)


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
    WorkloadClass.objects.update(max_call_seconds=1)
    with bystander() as other:
        other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT count(*) FROM budget_poolstate").fetchone()
        come_and_go(20)
        before = blocks_read(pool)
        come_and_go(300)
        for query, blocks in blocks_read(pool).items():
            assert blocks <= before[query] + 5, query


def come_and_go(count: int) -> None:
    """Calls with keys that are settled, and one more after their leases would have ended."""
    for n in range(count):
        settle(admit(tokens=1, idempotency_key=f"{count}/{n}").id, 1)
    time.sleep(1.1)
    admit(tokens=1)


def blocks_read(pool: Pool) -> dict[str, int]:
    """How many blocks each of the ledger's look-ups touches."""
    newest = decode_balances(bytes(PoolState.objects.latest("seq").state))
    key = [{"key_prefix": "", "idempotency_key": "20/7"}]
    span = {"pool": pool.pk, "after": newest.lapsed_through, "to": newest.pool.at + 1_000_000}
    looked_up: dict[str, Any] = {
        queries.READ: {"pool": pool.pk, "seq": None, "at": None},
        queries.CALLS_BY_KEY: (json.dumps(key), pool.pk),
        queries.LAPSED: {**span, "most": MOST_LAPSES},
    }
    found = {}
    with bystander() as other:
        for setting in ("enable_seqscan", "enable_hashjoin", "enable_mergejoin"):
            other.execute(f"SET {setting} = off")
        for query, params in looked_up.items():
            explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}"
            top = other.execute(explain, params).fetchone()[0][0]["Plan"]
            found[query] = int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])
    return found


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
    Limit.objects.create(pool=pool, **WIDE_WINDOW)
    assert admit(tokens=60_000).admitted


def test_a_lost_lock_row_comes_back(pool: Pool) -> None:
    admit()
    PoolLock.objects.all().delete()
    assert admit().admitted
    assert PoolLock.objects.count() == 1
    assert available() == 98_000


def test_who_locks_a_table_of_usage_holds_up_callers_but_loses_no_minute(
    pool: Pool, clock: Clock, settings: Any
) -> None:
    admit()
    with bystander() as other, other.transaction():
        other.execute("LOCK TABLE budget_usageminute IN ACCESS EXCLUSIVE MODE")
        assert admit().admitted, "until the minute is over"
        clock.forward(60)
        settings.BUDGET_LEDGER_WAIT_SECONDS = 0.5
        with pytest.raises(LedgerUnavailable):
            admit()
    settings.BUDGET_LEDGER_WAIT_SECONDS = 10
    assert admit().admitted
    closed = UsageMinute.objects.filter(workload_class="adjuster").earliest("minute")
    assert (closed.offered, closed.admitted) == (2, 2)
    assert eventually(lambda: available() == 99_000), "what nobody heard of was given back"


def test_the_writer_of_a_deleted_pool_ends(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_seconds_of_minute", lambda clock: 0.0)
    monkeypatch.setattr(writer, "LAG", (0.1, 0.1))
    stop_writers()
    admit()
    thread = writer_of(pool.pk)
    assert thread is not None
    wanted = submission(pool.pk, request())
    Pool.objects.all().delete()
    thread.join(5)
    assert not thread.is_alive()
    with bystander() as other:
        assert eventually(lambda: not terminate_ledger_connections(other))
    with pytest.raises(UnknownPool):
        answer_of(submit(pool.pk, wanted.operation), patience())


def test_who_comes_as_a_writer_ends_is_told_that_the_pool_is_gone(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_seconds_of_minute", lambda clock: 0.0)
    monkeypatch.setattr(writer, "LAG", (0.1, 0.1))
    mine = writer.Writer(pool.pk)
    wanted = submission(pool.pk, request())
    Pool.objects.all().delete()
    assert eventually(lambda: mine.is_over)
    with pytest.raises(UnknownPool):
        answer_of(mine.submit(wanted.operation), patience())
    mine.stop()


def writer_of(pool_id: int) -> threading.Thread | None:
    """The thread that decides a pool's operations."""
    names = {thread.name: thread for thread in threading.enumerate()}
    return names.get(f"budget-ledger-{pool_id}")


def test_many_callers_at_once_are_all_answered_once(pool: Pool) -> None:
    decided = together(32, lambda: [admit(tokens=100).admitted for _ in range(40)])
    flat = [admitted for one in decided for admitted in one]
    assert (len(flat), sum(flat)) == (1280, 1000)
    assert Call.objects.count() == 1280
    assert available() == 0


def test_a_settlement_finds_its_call_after_a_restart_of_the_writer(pool: Pool) -> None:
    call = admit(tokens=4000)
    stop_writers()
    settle(call.id, 1000)
    assert available() == 99_000
