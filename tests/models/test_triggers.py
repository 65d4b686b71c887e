"""What the database does on its own, by whatever route an edit comes."""

import threading

import pytest
from django.db import IntegrityError, connection, connections, transaction

from budget.models import Limit, PolicyVersion, Pool, PoolLock, Reservation, WorkloadClass
from tests.policies import small_pool

pytestmark = pytest.mark.usefixtures("committed")


def version_of(pool: Pool) -> int:
    return PolicyVersion.objects.get(pool_id=pool.pk).version


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE budget_limit SET amount = amount + 1",
        "INSERT INTO budget_limit "
        "(pool_id, unit, algorithm, amount, per_seconds, burst_percent, of_batch) "
        "SELECT id, 'requests', 'gauge', 4, 60, 25, false FROM budget_pool",
        "UPDATE budget_limit SET of_batch = true",
        "DELETE FROM budget_limit",
        "TRUNCATE budget_limit",
        "UPDATE budget_pool SET mode = 'observe'",
        "UPDATE budget_pool SET base_url = 'https://gateway.internal'",
        "UPDATE budget_pool SET batch = true",
        "UPDATE budget_pool SET batch_max_requests = 7",
        "UPDATE budget_pool SET batch_max_bytes = 2048",
        "UPDATE budget_pool SET batch_collect_seconds = 0",
        "UPDATE budget_pool SET batch_window_hours = 1",
        "UPDATE budget_workloadclass SET paused = true",
        "UPDATE budget_workloadclass SET draining = true",
        "UPDATE budget_reservation SET share_percent = 41",
        "DELETE FROM budget_reservation",
        "TRUNCATE budget_reservation",
    ],
)
def test_raw_sql_raises_the_version(sql: str) -> None:
    pool = small_pool()
    before = version_of(pool)
    run(sql)
    assert version_of(pool) > before


def test_an_update_that_changes_nothing_raises_no_version() -> None:
    pool = small_pool()
    before = version_of(pool)
    run("UPDATE budget_limit SET amount = amount")
    assert version_of(pool) == before


def test_an_edit_raises_the_version_of_its_own_pool_only() -> None:
    one, other = small_pool("one"), small_pool("other")
    before = version_of(other)
    Limit.objects.filter(pool=one).update(amount=700)
    assert version_of(other) == before


def test_a_class_raises_the_version_of_every_pool() -> None:
    pools = [small_pool("one"), small_pool("other")]
    before = [version_of(pool) for pool in pools]
    WorkloadClass.objects.create(slug="nightly", tier="bulk", deadline_seconds=3600)
    assert all(version_of(pool) > old for pool, old in zip(pools, before, strict=True))


def test_a_reservation_that_moves_raises_both_versions() -> None:
    one, other = small_pool("one"), Pool.objects.create(slug="other", provider="openai")
    before = version_of(one), version_of(other)
    run(f"UPDATE budget_reservation SET pool_id = {other.pk}")
    assert version_of(one) > before[0]
    assert version_of(other) > before[1]


def test_a_version_is_never_used_twice() -> None:
    pool = small_pool()
    before = version_of(pool)
    with transaction.atomic():
        Limit.objects.update(amount=601)
        lost = version_of(pool)
        transaction.set_rollback(True)
    assert version_of(pool) == before
    Limit.objects.update(amount=602)
    assert version_of(pool) > lost
    pool.delete()
    assert version_of(small_pool()) > lost


def test_a_pool_has_its_lock_row_at_once_and_loses_its_version_when_deleted() -> None:
    pool = small_pool()
    pk = pool.pk
    assert PoolLock.objects.filter(pool_id=pk).exists()
    pool.delete()
    assert not PolicyVersion.objects.filter(pool_id=pk).exists()


def test_truncating_pools_forgets_their_versions() -> None:
    small_pool()
    run("TRUNCATE budget_pool CASCADE")
    assert not PolicyVersion.objects.exists()


def test_slugs_never_change() -> None:
    small_pool()
    for model in (Pool, WorkloadClass):
        with pytest.raises(IntegrityError, match="fixed"):
            model.objects.update(slug="renamed")


def test_shares_over_100_are_refused_by_orm_and_raw_sql() -> None:
    pool = small_pool()
    nightly = WorkloadClass.objects.create(slug="nightly", tier="bulk", deadline_seconds=3600)
    with pytest.raises(IntegrityError, match=r"Shares of pool small add up to 100\.01"):
        Reservation.objects.create(pool=pool, workload_class=nightly, share_percent="60.01")
    with pytest.raises(IntegrityError, match="Shares of pool small"):
        run(
            "INSERT INTO budget_reservation (pool_id, workload_class_id, share_percent, "
            "ceiling_percent, weight, except_limits) "
            f"VALUES ({pool.pk}, {nightly.pk}, 60.01, 100, 1, '{{}}')"
        )
    Reservation.objects.create(pool=pool, workload_class=nightly, share_percent=60)


def test_shares_may_pass_over_100_within_a_transaction() -> None:
    pool = small_pool()
    nightly = WorkloadClass.objects.create(slug="nightly", tier="bulk", deadline_seconds=3600)
    with transaction.atomic():
        Reservation.objects.create(pool=pool, workload_class=nightly, share_percent=100)
        Reservation.objects.filter(workload_class__slug="chat").update(share_percent=0)
    assert Reservation.objects.get(workload_class=nightly).share_percent == 100


def test_two_transactions_at_once_cannot_both_reserve_the_rest() -> None:
    pool = small_pool()
    rivals = [
        WorkloadClass.objects.create(slug=f"rival{n}", tier="bulk", deadline_seconds=3600)
        for n in range(2)
    ]
    start, outcomes = threading.Barrier(2), []

    def reserve(rival: WorkloadClass) -> None:
        try:
            with transaction.atomic():
                start.wait(timeout=10)
                Reservation.objects.create(pool=pool, workload_class=rival, share_percent=50)
            outcomes.append("in")
        except IntegrityError as error:
            outcomes.append("out" if "add up to 140" in str(error) else repr(error))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=reserve, args=(rival,)) for rival in rivals]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert sorted(outcomes) == ["in", "out"]
