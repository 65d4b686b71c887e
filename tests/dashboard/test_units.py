"""What figures count, in words."""

import pytest

from budget.dashboard.units import offers_in_words


@pytest.mark.parametrize(
    ("queued", "words"),
    [([False], "calls"), ([True, True], "jobs"), ([False, True], "calls and jobs"), ([], "calls")],
)
def test_what_comes_is_named_by_what_can_come(queued: list[bool], words: str) -> None:
    assert offers_in_words(queued) == words
