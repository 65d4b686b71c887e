"""Refusals in words."""

import re

import pytest

from budget.ledger.wording import refusal_in_words, refused_place_in_words
from budget.rule.decision import Decision, Reason, Standing
from budget.rule.dequeue import Queue
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


def shed(reason: Reason, standing: Standing | None = None) -> Decision:
    """A decision by the numbers of one limit."""
    return Decision(
        admitted=False,
        workload_class=0,
        reason=reason,
        limit=None if standing is None else standing.limit,
        standings=[] if standing is None else [standing],
        retryable=True,
        retry_after_ms=1000,
    )


STANDING = Standing(
    limit="total_tokens/token_bucket",
    cost=2793,
    available=165_207.0,
    own_floor=0.0,
    protected={"adjuster": 164_000.0},
    headroom=1200.0,
    free=1207.0,
    interactive_floors_spent=0.0,
    ceiling_left=1001.0,
)


@pytest.mark.parametrize(
    ("reason", "numbers"),
    [
        ("ceiling", ["2,793", "1,001"]),
        ("pool_exhausted", ["2,793", "165,207"]),
        ("floor_protected", ["2,793", "165,207", "164,000"]),
        ("headroom", ["2,793", "1,207", "1,200"]),
    ],
)
def test_thousands_are_told_apart(reason: Reason, numbers: list[str]) -> None:
    words = refusal_in_words(TERMS, shed(reason, STANDING))

    assert re.findall(r"\d[\d,]+\d", words.partition(" Try")[0]) == numbers


def test_headroom_is_what_must_stay_free_even_where_less_is() -> None:
    words = refusal_in_words(TERMS, shed("headroom", STANDING._replace(free=-230.0)))

    assert words.startswith(
        "It costs 2,793 of total_tokens/token_bucket; 0 are free, and 1,200 must stay free as "
        "headroom for stricter classes."
    )


def test_a_full_queue_tells_thousands_apart_too() -> None:
    terms = pool([limit()], workload("nightly", queue_limit=2000, queue_tokens=3_000_000))
    full = Queue(depth=2000, tokens=1_234_567)

    words = refused_place_in_words(terms, shed("queue_full"), full, 500)

    assert "2,000 jobs with 1,234,567 tokens wait, and 2,000 jobs and 3,000,000 tokens may" in words
