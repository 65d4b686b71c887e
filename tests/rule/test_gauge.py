"""A gauge counts what is under way, and nothing else."""

from tests.rule.pools import Driver, limit, pool


def gauge(amount=2):
    return Driver(pool([limit(amount, "gauge", unit="requests")]))


def test_a_slot_comes_back_when_its_call_is_settled():
    driver = gauge()
    leases = [driver.offer("nightly", 1) for _ in range(2)]
    assert not driver.wait(3600).offer("nightly", 1).admitted
    driver.settle("nightly", leases[0], {})
    assert driver.offer("nightly", 1).admitted


def test_an_expired_lease_gives_its_slot_back_once():
    driver = gauge()
    lease = driver.offer("nightly", 1)
    driver.release("nightly", lease)
    driver.settle("nightly", lease, {}, held=False)
    assert driver.level.total == 0


def test_a_call_of_a_class_since_removed_still_gives_its_slot_back():
    driver = gauge()
    lease = driver.offer("nightly", 1)
    driver.settle("removed", lease, {})
    assert driver.level.total == 0
