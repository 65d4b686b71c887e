"""Limits as pages name them."""

import pytest

from budget.pages.limits import limit_in_words, limits_named, periods_of
from tests.rule.pools import limit

PERIODS = periods_of(
    [
        limit(),
        limit(unit="requests", algorithm="sliding_window", per=3600),
        limit(unit="input_tokens", per=90),
    ]
)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("total_tokens/token_bucket", "total tokens per minute"),
        ("requests/sliding_window", "requests in any hour"),
        ("input_tokens/token_bucket", "input tokens per 90 s"),
        ("requests/gauge", "requests at once"),
        ("output_tokens/token_bucket", "output tokens, token bucket"),
    ],
)
def test_a_limit_is_named_by_what_it_counts_and_in_which_time(name: str, words: str) -> None:
    assert limit_in_words(name, PERIODS) == words


def test_that_of_the_batch_endpoint_says_so() -> None:
    words = limit_in_words("total_tokens/gauge", PERIODS, of_batch=True)
    assert words == "batch endpoint: total tokens at once"


def test_a_sentence_names_its_limits_in_words() -> None:
    text = "It costs 900 of total_tokens/token_bucket; 5 of a/b are left."
    assert limits_named(text, PERIODS) == (
        "It costs 900 of total tokens per minute; 5 of a/b are left."
    )
