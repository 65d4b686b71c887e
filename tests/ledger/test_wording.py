"""Refusals in words."""

import pytest

from budget.ledger.wording import refusal_in_words
from budget.rule.decision import Decision, Reason
from tests.rule.pools import limit, pool, workload

TERMS = pool([limit()], workload("nightly"))


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("paused", "Nothing is admitted until it is resumed."),
        ("untagged", "Name one."),
        ("never_fits", "Make it smaller."),
        ("deadline_unmeetable", "has passed."),
        ("provider_backoff", "It cannot be admitted before its deadline."),
    ],
)
def test_a_refusal_for_good_says_what_to_do_about_its_reason(reason: Reason, advice: str) -> None:
    decision = Decision(
        admitted=False,
        workload_class=0,
        reason=reason,
        limit="total_tokens/token_bucket",
    )

    assert refusal_in_words(TERMS, decision).endswith(advice)


def test_a_refusal_for_now_says_when_to_come_back() -> None:
    decision = Decision(
        admitted=False,
        workload_class=0,
        reason="provider_backoff",
        retryable=True,
        retry_after_ms=1500,
    )

    assert refusal_in_words(TERMS, decision).endswith("Try again in 1.500 s.")
