"""What counts as exceeding a limit."""

from bench.peaks import Draw, bucket_excess, gauge_excess, window_excess

SECOND = 1_000_000


def test_a_bucket_gives_its_capacity_and_then_what_flows_in() -> None:
    kept = [Draw(0, 100), Draw(SECOND, 10), Draw(3 * SECOND, 20)]
    assert bucket_excess(kept, capacity=100, per_microsecond=10 / SECOND) == 0
    assert bucket_excess([*kept, Draw(3 * SECOND, 7)], 100, 10 / SECOND) == 7


def test_a_bucket_holds_no_more_than_its_capacity() -> None:
    late = [Draw(0, 0), Draw(1000 * SECOND, 101)]
    assert bucket_excess(late, 100, 10 / SECOND) == 1


def test_a_window_counts_what_lies_within_its_period() -> None:
    draws = [Draw(0, 60), Draw(30 * SECOND, 40), Draw(60 * SECOND, 60)]
    assert window_excess(draws, 100, 60 * SECOND) == 0
    assert window_excess([*draws, Draw(89 * SECOND, 1)], 100, 60 * SECOND) == 1


def test_a_gauge_counts_what_is_held_at_once() -> None:
    draws = [Draw(0, 1, returned_at=5), Draw(1, 1), Draw(5, 1, returned_at=9), Draw(9, 1)]
    assert gauge_excess(draws, 2) == 0
    assert gauge_excess(draws, 1) == 1


def test_nothing_drawn_is_nothing_exceeded() -> None:
    assert bucket_excess([], 1, 1) == window_excess([], 1, 1) == gauge_excess([], 1) == 0
