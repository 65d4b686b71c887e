"""A window counts a slot until it is wholly outside, and corrects it where it stands."""

from tests.rule.pools import Driver, limit, pool, workload


def window(amount=600, *classes):
    return Driver(pool([limit(amount, "sliding_window")], *classes))


def test_what_was_charged_comes_back_one_slot_late():
    driver = window()
    assert driver.offer("nightly", 600).admitted
    assert not driver.wait(60).offer("nightly", 1).admitted
    assert driver.wait(1).offer("nightly", 600).admitted


def test_a_class_alone_reaches_sixty_sixty_firsts():
    driver = window(6100)
    admitted = 0
    for _ in range(61 * 20):
        admitted += driver.offer("nightly", 100).admitted
        driver.wait(1)
    assert admitted * 100 == 20 * 6100


def test_a_refund_goes_back_into_the_slot_of_the_charge():
    driver = window()
    decision = driver.offer("nightly", 400)
    driver.wait(30)
    driver.settle("nightly", decision, {"total_tokens": 100})
    assert driver.level.total == 100
    assert driver.wait(31).level.total == 0


def test_a_settle_after_the_window_rolled_over_changes_nothing_in_the_new_one():
    for used in (100, 900):
        driver = window()
        decision = driver.offer("nightly", 400)
        driver.wait(61).offer("nightly", 50)
        outcome = driver.settle("nightly", decision, {"total_tokens": used})
        assert driver.level.total == 50
        assert (outcome.refunded, outcome.overrun) != ({}, {})


def test_an_idle_floor_is_idle_capacity_until_its_owner_uses_it():
    driver = window(600, workload("adjuster", share=0.5), workload("nightly"))
    assert driver.offer("nightly", 300).admitted
    assert driver.offer("nightly", 1).reason == "floor_protected"
    assert driver.offer("adjuster", 300).admitted


def test_an_overrun_of_a_call_that_estimated_nothing_counts_where_it_was_admitted():
    driver = window(600)
    decision = driver.offer("nightly", 0)
    driver.wait(30)
    driver.offer("nightly", 100)
    driver.settle("nightly", decision, {"total_tokens": 250})
    assert [slot.total for slot in driver.level.slots] == [250, 100]
    assert driver.wait(31).level.total == 100


def test_a_class_made_anew_never_has_used_less_than_nothing():
    driver = window()
    decision = driver.offer("nightly", 400)
    driver.level.slots[0].by_class[0] = driver.level.by_class[0] = 0
    driver.settle("nightly", decision, {"total_tokens": 100})
    assert (driver.level.total, driver.level.by_class) == (100, [0])
