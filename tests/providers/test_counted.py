"""What each provider counts against its limits."""

import pytest

from budget.providers import Tokens, counted

REPORTED = Tokens(input=1000, output=100, cached_input=400)


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("anthropic", Tokens(600, 100)),
        ("azure", Tokens(1000, 100)),
        ("bedrock", Tokens(600, 500)),
        ("gemini", Tokens(1000, 0)),
        ("openai", Tokens(1000, 100)),
    ],
)
def test_counts_what_the_provider_counts(provider: str, expected: Tokens) -> None:
    assert counted(provider, REPORTED) == expected


def test_an_unknown_provider_counts_everything() -> None:
    assert counted("", REPORTED) == REPORTED
