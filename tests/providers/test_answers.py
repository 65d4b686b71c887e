"""Reading what providers answer."""

from typing import Any

import pytest

from budget.providers import Tokens, anthropic, openai
from budget.providers.answers import Row, Unreadable, error_of, message_of


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "no"}}, "no"),
        ({"message": "no"}, "no"),
        ({"type": "error", "error": {"type": "x", "message": "no"}}, "no"),
        ({"error": "no"}, "no"),
        ("<html>\0", "<html>"),
        ({"message": "half \ud800"}, "half ?"),
        (None, ""),
        ([1], ""),
        ({"message": 700 * "x"}, 500 * "x"),
    ],
)
def test_the_words_of_an_error(body: object, message: str) -> None:
    assert message_of(body) == message
    assert isinstance(error_of(body), dict)


def test_usage_with_cached_input() -> None:
    openais = {"prompt_tokens": 9, "completion_tokens": 2}
    assert openai.usage({"usage": openais}) == Tokens(9, 2, 0)
    assert openai.usage(
        {"usage": {**openais, "prompt_tokens_details": {"cached_tokens": 5}}}
    ) == Tokens(9, 2, 5)
    written = {"input_tokens": 1, "cache_creation_input_tokens": 3, "output_tokens": 2}
    assert anthropic.usage({"usage": written}) == Tokens(4, 2, 0)
    read = {"cache_read_input_tokens": 5, "cache_creation_input_tokens": None}
    assert anthropic.usage({"usage": written | read}) == Tokens(6, 2, 5)


@pytest.mark.parametrize("provider", [openai, anthropic])
def test_usage_that_is_missing_or_nonsense(provider: Any) -> None:
    assert provider.usage({}) is None
    assert provider.usage({"usage": None}) is None
    for nonsense in ("9", -1, True, 1.5):
        counts = {"prompt_tokens": nonsense, "input_tokens": nonsense}
        with pytest.raises(Unreadable):
            provider.usage({"usage": counts})


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"type": "succeeded", "message": {"a": 1}}, Row("x", "succeeded", {"a": 1})),
        ({"type": "expired"}, Row("x", "sent_away", error="The provider let it be expired.")),
        ({"type": "canceled"}, Row("x", "sent_away", error="The provider let it be canceled.")),
        (
            {"type": "errored", "error": {"error": {"type": "overloaded_error"}}},
            Row("x", "failed", error="overloaded_error"),
        ),
        (
            {"type": "errored", "error": {"error": {"type": "authentication_error"}}},
            Row("x", "failed", error="authentication_error"),
        ),
        (
            {"type": "errored", "error": {"error": {"type": "invalid_request_error"}}},
            Row("x", "failed", error="invalid_request_error", final=True),
        ),
    ],
)
def test_a_row_of_anthropic(result: dict[str, Any], expected: Row) -> None:
    assert anthropic.batch_row({"custom_id": "x", "result": result}) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {"response": {"status_code": 200, "body": {"a": 1}}, "error": None},
            Row("x", "succeeded", {"a": 1}),
        ),
        (
            {"response": {"status_code": 429, "body": {"error": {"message": "slow"}}}},
            Row("x", "failed", error="429: slow"),
        ),
        (
            {"response": {"status_code": 422, "body": None}},
            Row("x", "failed", error="422: ", final=True),
        ),
        (
            {"response": {"status_code": 404, "body": {"error": {"code": "model_not_found"}}}},
            Row("x", "failed", error="404: ", final=True),
        ),
        (
            {"response": {"status_code": 404, "body": None}},
            Row("x", "failed", error="404: "),
        ),
        (
            {"response": {"status_code": 401, "body": None}},
            Row("x", "failed", error="401: "),
        ),
        (
            {"response": {"status_code": [400], "body": None}},
            Row("x", "failed", error="[400]: "),
        ),
        (
            {"error": {"code": "batch_cancelled", "message": "late"}, "response": None},
            Row("x", "sent_away", error="late"),
        ),
        (
            {"error": {"code": "odd", "message": ""}},
            Row("x", "failed", error="odd", final=True),
        ),
    ],
)
def test_a_row_of_openai(row: dict[str, Any], expected: Row) -> None:
    assert openai.batch_row({"custom_id": "x", **row}) == expected


@pytest.mark.parametrize("provider", [openai, anthropic])
@pytest.mark.parametrize(
    "row",
    [{}, {"custom_id": 7}, {"custom_id": "x"}, {"custom_id": "x", "result": {"type": "odd"}}],
)
def test_rows_that_nobody_documents(provider: Any, row: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        provider.batch_row(row)
