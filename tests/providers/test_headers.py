"""What headers and error bodies say of an account's limits."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.providers.headers import standing_of
from budget.providers.standing import ProviderLimit, Standing
from budget.providers.values import span, until, wait, whole

DATE = {"Date": "Mon, 30 Nov 2026 12:00:00 GMT"}
PROVIDERS = ["anthropic", "azure", "bedrock", "gemini", "openai", "unheard of"]


def error(**fields: Any) -> bytes:
    return json.dumps({"error": fields}).encode()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1),
        ("6m0s", 360),
        ("120ms", 0.12),
        ("1h2m3.5s", 3723.5),
        ("8.64s", 8.64),
        ("7", 7),
        ("s", None),
        ("1s later", None),
        ("-1s", None),
        ("", None),
        (None, None),
    ],
)
def test_a_span(text: str | None, seconds: float | None) -> None:
    assert span(text) == pytest.approx(seconds) if seconds else span(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-11-30T12:00:40Z", 40),
        ("2026-11-30T13:00:40.5+01:00", 40.5),
        ("Mon, 30 Nov 2026 12:01:00 GMT", 60),
        ("2026-11-30T11:00:00Z", 0),
        ("tomorrow", None),
        (None, None),
    ],
)
def test_a_moment_is_told_by_the_answers_own_clock(text: str | None, seconds: float | None) -> None:
    assert until({"date": DATE["Date"]}, text) == seconds
    assert until({}, text) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "9"}, 9),
        ({"Retry-After": "0"}, 0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:07 GMT"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:07 GMT"} | DATE, 7),
        ({}, None),
    ],
)
def test_the_wait_it_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert wait(headers) == seconds


def test_of_several_waits_the_longest_counts() -> None:
    assert wait({"retry-after-ms": "1500", "retry-after": "9"}) == 9
    assert wait({"retry-after-ms": "15000", "retry-after": "9"}) == 15
    assert wait({"retry-after": "2, 30, 10"}) == 30
    assert wait({"retry-after-ms": "1500, 100", "retry-after": "1"}) == 1.5
    assert wait({"retry-after-ms": "1500", "retry-after": "2"}) == 1.5, "it is only rounded up"


def test_how_openai_stands() -> None:
    headers = {
        "X-RateLimit-Limit-Requests": "500",
        "x-ratelimit-remaining-requests": "499",
        "x-ratelimit-reset-requests": "120ms",
        "x-ratelimit-limit-tokens": "400000",
        "x-ratelimit-remaining-tokens": "398000",
    }
    for provider in ("openai", "azure"):
        assert standing_of(provider, 200, headers, b"") == Standing(
            (
                ProviderLimit("requests", 500, 499, 0.12),
                ProviderLimit("total_tokens", 400_000, 398_000),
            )
        )


def test_how_anthropic_stands() -> None:
    headers = DATE | {
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-tokens-remaining": "0",
        "anthropic-ratelimit-input-tokens-limit": "40000",
        "anthropic-ratelimit-input-tokens-remaining": "39000",
        "anthropic-ratelimit-input-tokens-reset": "2026-11-30T12:00:02Z",
        "anthropic-ratelimit-output-tokens-limit": "8000",
        "anthropic-ratelimit-output-tokens-remaining": "some",
    }
    assert standing_of("anthropic", 200, headers, b"").limits == (
        ProviderLimit("requests", 50, None),
        ProviderLimit("total_tokens", None, 0),
        ProviderLimit("input_tokens", 40_000, 39_000, 2),
        ProviderLimit("output_tokens", 8000, None),
    )


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_busy_provider(provider: str) -> None:
    for status in (429, 529):
        assert standing_of(provider, status, {}, b"<html>") == Standing(refusal="busy")
    waits = {"retry-after": "3"}
    assert standing_of(provider, 503, waits, b"") == Standing((), "busy", 3)
    for status in (200, 500, 503):
        assert not standing_of(provider, status, {}, b"").says_anything
    assert standing_of(provider, 200, waits, b"") == Standing()


@pytest.mark.parametrize(
    ("provider", "status", "body"),
    [
        ("openai", 429, error(code="insufficient_quota", type="insufficient_quota")),
        ("azure", 429, error(code="billing_hard_limit_reached")),
        ("anthropic", 400, error(type="x", message="Your credit balance is too low to go on.")),
        ("anthropic", 429, error(details={"error_code": "workspace_spend_limit"})),
    ],
)
def test_a_spend_cap_is_not_worth_a_retry(provider: str, status: int, body: bytes) -> None:
    said = standing_of(provider, status, {"retry-after": "5"}, body)
    assert (said.refusal, said.retry_after_seconds) == ("money", None)
    assert standing_of(provider, 200, {}, body).refusal == ""


def test_a_limit_of_a_day_is_told_by_how_long_it_takes() -> None:
    a_day = ProviderLimit("requests", 10_000, 9_000, 8640.0)
    assert a_day.per_seconds == 86_400
    for reset in (None, 0.0, 6.0, 60.0, 61.0):
        assert ProviderLimit("requests", 10_000, 9_000, reset).per_seconds == 60
    assert ProviderLimit("total_tokens", 400_000, 399_999, 1.0).per_seconds == 60
    assert ProviderLimit("total_tokens", None, 0, 9999.0).per_seconds == 60
    for remaining in (100, 200):
        assert ProviderLimit("total_tokens", 100, remaining, 99.0).per_seconds == 60


NAMES = st.sampled_from(
    [
        "Date",
        "retry-after",
        "retry-after-ms",
        *(f"x-ratelimit-{what}-tokens" for what in ("limit", "remaining", "reset")),
        *(f"anthropic-ratelimit-tokens-{what}" for what in ("limit", "remaining", "reset")),
    ]
)
VALUES = st.text(max_size=30) | st.sampled_from(
    ["9" * 400, "1e400", "²", "-1", "٣", "0001-01-01", "9999-12-31T23:59:59-14:00", "12:61 1 x 2"]
)


@given(
    st.sampled_from(PROVIDERS),
    st.integers(100, 599),
    st.dictionaries(NAMES, VALUES | st.dates().map(str) | st.datetimes().map(str)),
    st.binary(max_size=50) | st.just(b"[" * 100_000) | st.just(b'{"error": {"details": 1}}'),
)
def test_nonsense_never_raises(
    provider: str, status: int, headers: dict[str, str], body: bytes
) -> None:
    for limit in standing_of(provider, status, headers, body).limits:
        assert limit.per_seconds in (60, 86_400)
        assert limit.amount is None or limit.amount >= 0


def test_a_number_is_whole_and_sane() -> None:
    assert whole("42") == 42
    assert [whole(text) for text in ("", "4.2", "-1", "²", "9" * 20, None)] == [None] * 6
