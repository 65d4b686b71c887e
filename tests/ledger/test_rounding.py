from budget.ledger.rounding import rounded


def test_numbers_lose_their_binary_noise_wherever_they_stand() -> None:
    shown = rounded({"a": [1.5000000000000002, {"b": 122.88629999999993}], "c": None, "d": "x"})

    assert shown == {"a": [1.5, {"b": 122.8863}], "c": None, "d": "x"}


def test_counts_and_flags_stay_what_they_are() -> None:
    assert [type(value) for value in rounded([1, True, 1.0])] == [int, bool, float]
