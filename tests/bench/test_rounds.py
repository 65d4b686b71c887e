"""Contenders in turn."""

from bench.rounds import in_turn, medians


def test_every_contender_is_measured_before_any_again() -> None:
    order: list[str] = []

    def contender(name: str) -> float:
        order.append(name)
        return float(len(order))

    measured = in_turn(
        {"a": lambda: contender("a"), "b": lambda: contender("b")}, rounds=3, tell=lambda _: None
    )
    assert order == ["a", "b"] * 3
    assert medians(measured) == {"a": 3, "b": 4}
