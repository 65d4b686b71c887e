"""Who gave a reason stands beside it."""

import pytest

from budget.policy.audit import signed


@pytest.mark.parametrize(
    ("reason", "name", "words"),
    [
        ("sent twice", "ada", "sent twice (by ada)"),
        ("", "ada", "by ada"),
        ("sent twice", "", "sent twice"),
        ("", "", ""),
    ],
)
def test_a_reason_is_signed(reason: str, name: str, words: str) -> None:
    assert signed(reason, name) == words
